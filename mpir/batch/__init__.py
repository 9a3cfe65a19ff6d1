"""Long jobs on many machines: engines that run parts of a job, and leave what is done to the driver's journal."""
