# motionloom with the studio, FBX, USD, sound files and Dask: docker build -t motionloom .
# The first stage builds the wheel with the studio's page and compiled kernels, for which it needs the
# packages of the image; the second has no Node.
# The base image is named by its digest, and all packages by their hashes (`make lock` renews them).
FROM python:3.13.14-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8 AS build
WORKDIR /source
COPY packaging/image packaging/image
RUN pip install --no-cache-dir --require-hashes --only-binary :all: \
    --requirement packaging/image/build.txt --requirement packaging/image/requirements.txt
COPY . .
RUN python -m build --wheel --no-isolation --outdir /wheels

FROM python:3.13.14-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8
RUN useradd --create-home --uid 1000 loom \
    && install --directory --owner loom --group loom /data
COPY packaging/image/requirements.txt /wheels/
RUN pip install --no-cache-dir --require-hashes --only-binary :all: --requirement /wheels/requirements.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --no-deps /wheels/*.whl && pip check && rm -rf /wheels

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
