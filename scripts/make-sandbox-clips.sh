#!/usr/bin/env bash
# Makes the clips of the sandbox's video model, once: they are committed, so neither server nor build needs ffmpeg.
# Needs: apt-get install ffmpeg fonts-dejavu-core
set -euo pipefail

out="$(dirname "$0")/../packages/server/src/models/sandbox/clips"
mkdir -p "$out"
size=320x240
rate=15

# make_clip NAME SOURCE: encodes SOURCE for 2 and 4 seconds with the word SANDBOX in a band.
# Baseline profile and yuv420p play everywhere; faststart lets a browser begin before the end has arrived.
make_clip() {
  local name=$1 source=$2 seconds
  local picture="drawbox=y=100:w=320:h=40:color=0x141418:t=fill"
  picture+=",drawtext=font=DejaVu Sans Mono:text=SANDBOX:fontsize=28:fontcolor=white:x=(w-text_w)/2:y=108,format=yuv420p"
  for seconds in 2 4; do
    # About 16 KB whatever the length, hence two passes.
    local encode=(ffmpeg -hide_banner -loglevel error -y -f lavfi -i "$source" -t "$seconds" -vf "$picture" -an
      -c:v libx264 -profile:v baseline -preset veryslow -b:v "$((16 * 8 / seconds))k" -passlogfile "$scratch/pass")
    "${encode[@]}" -pass 1 -f null /dev/null
    "${encode[@]}" -pass 2 -movflags +faststart -map_metadata -1 -fflags +bitexact -flags:v +bitexact \
      "$out/$name-${seconds}s.mp4"
  done
}

scratch="$(mktemp -d)"
trap 'rm -r "$scratch"' EXIT

make_clip drift "gradients=s=$size:r=$rate:c0=0x1b4965:c1=0x62b6cb:x0=0:y0=0:x1=320:y1=240:speed=0.02:seed=1"
make_clip glow "gradients=s=$size:r=$rate:c0=0x7f4f24:c1=0xffb703:type=radial:x0=160:y0=120:x1=320:y1=240:speed=0.02:seed=2"
make_clip sweep "gradients=s=$size:r=$rate:c0=0x2d6a4f:c1=0xd8f3dc:x0=0:y0=0:x1=320:y1=0:speed=0.06:seed=3"
make_clip wheel "gradients=s=$size:r=$rate:c0=0x5a189a:c1=0xe0aaff:type=circular:x0=160:y0=120:x1=320:y1=240:speed=0.03:seed=4"

ls -l "$out"
