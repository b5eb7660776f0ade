#include "damper/run/scope.h"

namespace damper::run {

constinit thread_local const Scope* Scope::current_ = nullptr;

}  // namespace damper::run
