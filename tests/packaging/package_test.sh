#!/usr/bin/env bash
# package_test.sh BUILD WORK VERSION
# Creates the Debian package of BUILD under WORK, checks its content and runs the program in it.
set -euo pipefail

build=$1 work=$2 version=$3
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "package_test: $1" >&2
  exit 1
}
has() {  # FILE TEXT: a line of FILE has the text.
  grep -qF -- "$2" "$1" || { cat "$1"; fail "no '$2' in $(basename "$1")"; }
}

echo "== make"
(cd "$build" && cpack -G DEB -D CPACK_COMPONENTS_ALL=runtime -B "$work" >"$work/cpack.log") ||
  { cat "$work/cpack.log"; fail "cpack failed"; }
debs=("$work"/damper_"$version"_*.deb)
[[ -f ${debs[0]} && ${#debs[@]} == 1 ]] || fail "not one package: ${debs[*]}"

echo "== control fields"
dpkg-deb -I "${debs[0]}" >"$work/about"
has "$work/about" "Package: damper"
has "$work/about" "Version: $version"
for library in libc6 libssl3 libyaml-cpp libnghttp2; do has "$work/about" "$library"; done
for script in conffiles postinst prerm postrm; do has "$work/about" " $script "; done

echo "== content"
dpkg-deb -c "${debs[0]}" | awk '{print $1, $2, $6}' >"$work/content"
for file in /usr/bin/damper /etc/damper/damper.yaml /lib/systemd/system/damper.service \
  /etc/damper/webhooks.yaml /lib/systemd/system/damper-webhooks.service \
  /usr/share/doc/damper/guide/webhooks.md /usr/share/doc/damper/examples/damper-webhooks.json \
  /usr/share/doc/damper/examples/damper-webhooks.rules.yml \
  /usr/share/doc/damper/examples/webhooks.yaml \
  /lib/systemd/system/damper.socket /usr/share/doc/damper/copyright \
  /usr/share/doc/damper/guide/policy.md /usr/share/doc/damper/examples/damper.rules.yml; do
  has "$work/content" " .$file"
done
if grep -v ' root/root ' "$work/content"; then fail "a file is not owned by root"; fi
if grep -E '^.(....w|.......w)' "$work/content" | grep -v '^l'; then fail "writable by others"; fi
if grep -E '\.(a|h|cmake|pc)$|_test' "$work/content"; then fail "a development file"; fi
if grep " ./usr/local" "$work/content"; then fail "packages stay out of /usr/local"; fi

echo "== maintainer scripts: start nothing, create no user"
dpkg-deb -e "${debs[0]}" "$work/control"
[[ $(tr '\n' ' ' <"$work/control/conffiles") == "/etc/damper/damper.yaml \
/etc/damper/webhooks.yaml " ]] || fail "conffiles"
if grep -nE 'systemctl.*\b(start|restart|enable)\b|adduser|useradd|chmod|curl|wget' \
  "$work/control/postinst"; then fail "postinst has a forbidden command"; fi
for script in postinst prerm postrm; do sh -n "$work/control/$script"; done

echo "== run the program from the package"
dpkg-deb -x "${debs[0]}" "$work/root"
damper=$work/root/usr/bin/damper
[[ $("$damper" --version) == "damper $version" ]] || fail "--version"
"$damper" proxy --validate -c "$work/root/etc/damper/damper.yaml" || fail "invalid configuration"
"$damper" webhooks serve --validate -c "$work/root/etc/damper/webhooks.yaml" ||
  fail "invalid configuration of the dispatcher"
rm -rf "$work/root" "${debs[@]}"
