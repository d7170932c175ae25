# motionloom with the studio, FBX, USD, sound files and Dask: docker build -t motionloom .
# The first stage builds the wheel with the studio's page; the second has no compiler and no Node.
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir "build>=1.2" && python -m build --wheel --outdir /wheels

FROM python:3.13-slim-bookworm
RUN useradd --create-home --uid 1000 loom \
    && install --directory --owner loom --group loom /data
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[studio,cluster,fbx,usd,audio]" && rm -rf /wheels

# Libraries are in /data; compiled kernels and settings are in the home folder.
USER 1000
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8765
ENV PYTHONUNBUFFERED=1

# Any response is fine: without the token the studio rejects the request, but it is alive.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8765, timeout=4); c.request('GET', '/'); assert c.getresponse().status < 500"]

# The token comes from MOTIONLOOM_TOKEN; otherwise one is generated and printed at each start.
ENTRYPOINT ["motionloom"]
CMD ["studio", "library.loom", "--host", "0.0.0.0", "--no-browser"]
