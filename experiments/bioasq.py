"""The main job as a script: the same as ``mpir bioasq``, with the same options.

python experiments/bioasq.py
python experiments/bioasq.py --questions testset1.json --corpus pubmed/ --output submission.json
"""

import sys

from mpir.app.cli.bioasq import main

if __name__ == "__main__":
    sys.exit(main())
