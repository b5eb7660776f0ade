#include "damper/run/async/handler_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace damper::run {
namespace {

bool is_within(const void* memory, const HandlerMemory& of) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&of);
  return memory >= begin && memory < begin + sizeof(of);
}

TEST(HandlerMemory, GivesWhatIsInPlaceFirst) {
  HandlerMemory memory;
  HandlerMemory::Allocator<std::array<char, 100>> allocator = memory.allocator();
  auto* const first = allocator.allocate(1);
  auto* const second = allocator.allocate(2);
  auto* const third = allocator.allocate(1);
  EXPECT_TRUE(is_within(first, memory));
  EXPECT_TRUE(is_within(second, memory));
  EXPECT_FALSE(is_within(third, memory));
  allocator.deallocate(first, 1);
  auto* const fourth = allocator.allocate(1);
  EXPECT_EQ(fourth, first);
  allocator.deallocate(second, 2);
  allocator.deallocate(third, 1);
  allocator.deallocate(fourth, 1);
}

TEST(HandlerMemory, WhatDoesNotFitIsAllocated) {
  HandlerMemory memory;
  HandlerMemory::Allocator<char> allocator = memory.allocator();
  auto* const large = allocator.allocate(HandlerMemory::kSize + 1);
  EXPECT_FALSE(is_within(large, memory));
  allocator.deallocate(large, HandlerMemory::kSize + 1);
  auto* const just = allocator.allocate(HandlerMemory::kSize);
  EXPECT_TRUE(is_within(just, memory));
  allocator.deallocate(just, HandlerMemory::kSize);
}

}  // namespace
}  // namespace damper::run
