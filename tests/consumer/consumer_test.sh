#!/usr/bin/env bash
# consumer_test.sh BUILD WORK COMPILER VERSION
# Installs BUILD under WORK/prefix, then builds and runs project/ against it: with find_package, and
# with pkg-config and nothing but the compiler.
set -euo pipefail

build=$1 work=$2 compiler=$3 version=$4
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "consumer_test: $1" >&2
  exit 1
}

echo "== install"
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
# Moved after the installation: no file may contain the first path.
mv "$work/prefix" "$work/moved"
prefix=$work/moved
if grep -rIl -e "$build" -e "$work/prefix" "$prefix/lib/cmake" "$prefix"/lib/pkgconfig; then
  fail "the files above contain the build or the first installation path"
fi
if find "$prefix/include" -name '*_test*' | grep .; then fail "tests were installed"; fi

echo "== find_package"
cmake -S "$here/project" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$work/cmake.log"
cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log"; fail "no build"; }
"$work/cmake/consumer" | tee "$work/cmake.out"

echo "== find_package of a component that does not exist"
mkdir "$work/wrong"
cat >"$work/wrong/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(wrong LANGUAGES CXX)
find_package(damper REQUIRED COMPONENTS teleport)
EOF
if cmake -S "$work/wrong" -B "$work/wrong/build" -DCMAKE_PREFIX_PATH="$prefix" \
  >"$work/wrong.log" 2>&1; then
  fail "find_package found a component that does not exist"
fi

echo "== pkg-config"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
[[ $(pkg-config --modversion damper) == "$version" ]] || fail "damper.pc has the wrong version"
read -ra cflags <<<"$(pkg-config --cflags damper)"
read -ra libs <<<"$(pkg-config --libs damper)"
# Not as system headers: our headers must compile without warnings.
"$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror "${cflags[@]}" \
  "$here/project/consumer.cc" "${libs[@]}" -o "$work/consumer"
"$work/consumer" >"$work/pkg-config.out"
cmp "$work/cmake.out" "$work/pkg-config.out" || fail "the two builds do not print the same"

if [[ -f $PKG_CONFIG_PATH/damper-policy.pc ]]; then
  echo "== the policy component, both ways"
  read -ra libs <<<"$(pkg-config --libs damper-policy)"
  "$compiler" -std=c++20 "${cflags[@]}" "$here/project/consumer.cc" "${libs[@]}" \
    -o "$work/consumer-policy"
  cmake -S "$here/project" -B "$work/policy" -DCMAKE_PREFIX_PATH="$prefix" -DPOLICY=ON \
    -DCMAKE_CXX_COMPILER="$compiler" >"$work/policy.log"
  cmake --build "$work/policy" >>"$work/policy.log" || { cat "$work/policy.log"; fail "no build"; }
fi
if [[ -f $PKG_CONFIG_PATH/damper-http.pc ]]; then
  echo "== the http component, both ways"
  read -ra libs <<<"$(pkg-config --libs damper-http)"
  "$compiler" -std=c++20 "${cflags[@]}" "$here/project/http_consumer.cc" "${libs[@]}" \
    -o "$work/consumer-http"
  "$work/consumer-http"
  cmake -S "$here/project" -B "$work/http" -DCMAKE_PREFIX_PATH="$prefix" -DHTTP=ON \
    -DCMAKE_CXX_COMPILER="$compiler" >"$work/http.log"
  cmake --build "$work/http" >>"$work/http.log" || { cat "$work/http.log"; fail "no build"; }
  "$work/http/http_consumer"
fi
if [[ -f $PKG_CONFIG_PATH/damper-webhooks.pc ]]; then
  echo "== the webhooks component, both ways"
  read -ra libs <<<"$(pkg-config --libs damper-webhooks)"
  "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Werror "${cflags[@]}" \
    "$here/project/webhooks_consumer.cc" "${libs[@]}" -o "$work/consumer-webhooks"
  "$work/consumer-webhooks"
  cmake -S "$here/project" -B "$work/webhooks" -DCMAKE_PREFIX_PATH="$prefix" -DWEBHOOKS=ON \
    -DCMAKE_CXX_COMPILER="$compiler" >"$work/webhooks.log"
  cmake --build "$work/webhooks" >>"$work/webhooks.log" ||
    { cat "$work/webhooks.log"; fail "no build"; }
  "$work/webhooks/webhooks_consumer"
fi
if [[ -f $PKG_CONFIG_PATH/damper-dispatcher.pc ]]; then
  echo "== the dispatcher component, both ways"
  read -ra libs <<<"$(pkg-config --libs damper-dispatcher)"
  "$compiler" -std=c++20 "${cflags[@]}" "$here/project/dispatcher_consumer.cc" "${libs[@]}" \
    -o "$work/consumer-dispatcher"
  "$work/consumer-dispatcher" "$work/pkg-config.db"
  cmake -S "$here/project" -B "$work/dispatcher" -DCMAKE_PREFIX_PATH="$prefix" -DDISPATCHER=ON \
    -DCMAKE_CXX_COMPILER="$compiler" >"$work/dispatcher.log"
  cmake --build "$work/dispatcher" >>"$work/dispatcher.log" ||
    { cat "$work/dispatcher.log"; fail "no build"; }
  "$work/dispatcher/dispatcher_consumer" "$work/cmake.db"
fi
if [[ -x $prefix/bin/damper ]]; then
  "$prefix/bin/damper" --help >/dev/null
fi
echo "== ok"
