#!/usr/bin/env bash
# Makes the archives of a release in target/release-archives, and prints the name and sha256 of each:
#   bash packaging/release.sh [TARGET]
# TARGET is x86_64-unknown-linux-musl unless given: one static file for CPUs that runs on any Linux. A build for GPUs has the
# target x86_64-unknown-linux-gnu. The source archive has all crates in it, so it builds without a network; Spack and EasyBuild
# files with its sha256 are written next to it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${1:-x86_64-unknown-linux-musl}
version=$(sed -n '0,/^version = /s/^version = "\(.*\)"/\1/p' Cargo.toml)
out=$PWD/target/release-archives
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$out"

# Writes a folder of the stage to an archive, with the time of the commit and without names of users.
archive() {
    tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -c "$1" | gzip -9n >"$out/$1.tar.gz"
    (cd "$out" && sha256sum "$1.tar.gz")
}

source=gpugraph-$version-source
git archive --prefix="$source/" HEAD | tar -x -C "$stage"
mkdir "$stage/$source/.cargo"
cargo vendor --locked --quiet --versioned-dirs "$stage/$source/vendor" >/dev/null
cat >"$stage/$source/.cargo/config.toml" <<'CONFIG'
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
CONFIG
archive "$source"
sha256=$(sha256sum "$out/$source.tar.gz" | cut -d ' ' -f 1)
for recipe in packaging/spack/package.py packaging/easybuild/*.eb; do
    sed "s/SHA256_OF_THE_SOURCE/$sha256/" "$recipe" >"$out/${recipe##*/}"
done

# musl-gcc compiles the C parts of a static build.
if [ "$target" = x86_64-unknown-linux-musl ]; then export CC_x86_64_unknown_linux_musl=${CC_x86_64_unknown_linux_musl:-musl-gcc}; fi
(cd "$stage/$source" && cargo build --release --locked --offline --quiet --features parquet --target "$target" --target-dir "$out/build")
name=gpugraph-$version-$target
root=$stage/$name
mkdir -p "$root"/{bin,licenses} "$root"/share/{man/man1,gpugraph,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
cp "$out/build/$target/release/gpugraph" "$root/bin"
# The archive is for this kind of machine, so the binary runs here, too.
# `man` prints all pages; two lines before the title of each belong to it.
"$root/bin/gpugraph" man | awk -v folder="$root/share/man/man1" '
    /^\.ie / { head = $0; getline; head = head "\n" $0; file = ""; next }
    /^\.TH / { file = folder "/" $2 ".1"; print head > file }
    file { print > file }'
"$root/bin/gpugraph" completions bash >"$root/share/bash-completion/completions/gpugraph"
"$root/bin/gpugraph" completions zsh >"$root/share/zsh/site-functions/_gpugraph"
"$root/bin/gpugraph" completions fish >"$root/share/fish/vendor_completions.d/gpugraph.fish"
cp -r configs pbs slurm scheduler site.env "$root/share/gpugraph"
cp README.md CHANGELOG.md CITATION.cff LICENSE-MIT LICENSE-APACHE "$root"
# Licences of what is linked in: of each crate, of the C sources in it, and of Rust's standard library.
cargo tree --locked --edges normal --features parquet --target "$target" --prefix none --format '{p}' | awk '{ print $1 "-" substr($2, 2) }' | sort -u |
    while read -r crate; do
        [ -d "$stage/$source/vendor/$crate" ] || continue
        (cd "$stage/$source/vendor" && find "$crate" -maxdepth 3 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'unlicense*' \) \
            -exec cp --parents {} "$root/licenses" \;)
        grep -h '^license = ' "$stage/$source/vendor/$crate/Cargo.toml" | sed "s/^license = /$crate: /" >>"$root/licenses/CRATES"
    done
cp "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" "$root/licenses/rust-standard-library.html"
archive "$name"
