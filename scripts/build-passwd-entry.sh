#!/bin/sh
# Compiles packages/server/native/passwd-entry.c. Needs Debian's gcc and gcc-aarch64-linux-gnu (or gcc-x86-64-linux-gnu
# on arm64); the results are committed, so that installing promptd needs no compiler.
set -eu
cd "$(dirname "$0")/../packages/server/native"
for target in x64:x86_64 arm64:aarch64; do
  "${target#*:}-linux-gnu-gcc" -Wall -Werror -Os -shared -fPIC -nostdlib -Wl,-s,-z,noseparate-code,--build-id=none \
    -o "passwd-entry-linux-${target%:*}.so" passwd-entry.c
done
