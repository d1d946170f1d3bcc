#include "core/interrupt.hpp"

namespace stagewise {

thread_local Interrupt* Interrupt::current_ = nullptr;

Interrupt::Interrupt()
    : owner_(std::this_thread::get_id()), outer_(current_), next_check_(clock() + kInterval) {
  current_ = this;
}

Interrupt::~Interrupt() { current_ = outer_; }

}  // namespace stagewise
