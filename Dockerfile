# mpir serve on a CPU, with the default bundle's weights inside: docker build -t mpir . && docker run -p 8000:8000 -e MPIR_API_KEY=KEY mpir
FROM python:3.11-slim

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY mpir mpir
COPY docker docker
RUN TORCH_INDEX=$TORCH_INDEX sh docker/install.sh python \
    && cp docker/healthy.py /usr/local/bin/healthy.py \
    && rm -rf /src \
    && useradd --create-home --uid 10001 mpir

USER 10001
WORKDIR /home/mpir
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "/usr/local/bin/healthy.py"]
# In a container the server listens on all addresses, and docker run -p opens the port to other machines. So it asks for
# a key in $MPIR_API_KEY, and ends without one unless it is told --insecure.
ENTRYPOINT ["mpir", "serve", "--host", "0.0.0.0", "--port", "8000"]
