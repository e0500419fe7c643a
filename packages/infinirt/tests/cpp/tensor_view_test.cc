// Views are sound or refused; copies, moves and swaps work on both sides of the inline rank.
#include "infini/rt/tensor_view.h"

#include <numeric>
#include <utility>
#include <vector>

#include "check.h"

using namespace infini::rt;

namespace {

constexpr Device kCpu;
float storage[64];

using Sizes = std::vector<std::int64_t>;

TensorView ViewOfRank(int rank) {
  Sizes shape(static_cast<std::size_t>(rank), 1);
  Sizes strides(static_cast<std::size_t>(rank));
  std::iota(strides.begin(), strides.end(), 100);
  return TensorView(storage, shape, strides, DataType::kFloat32, kCpu);
}

void TestRanks() {
  for (const int rank : {0, 1, 7, 8, 9, 12, 64}) {
    const TensorView view = ViewOfRank(rank);
    CHECK_EQ(view.rank(), rank);
    CHECK_EQ(view.numel(), std::int64_t{1});
    CHECK(view.is_contiguous());
    if (rank > 0) {
      CHECK_EQ(view.stride(-1), std::int64_t{100 + rank - 1});
      CHECK_EQ(view.stride(0), std::int64_t{100});
    }
    const TensorView copy = view;
    CHECK(copy == view);
    CHECK_EQ(copy.hash(), view.hash());
    for (const int other_rank : {0, 8, 9, 20}) {
      TensorView a = ViewOfRank(rank);
      TensorView b = ViewOfRank(other_rank);
      std::swap(a, b);
      CHECK(a == ViewOfRank(other_rank));
      CHECK(b == ViewOfRank(rank));
      b = a;
      CHECK(b == a);
      TensorView& alias = b;
      b = alias;
      CHECK(b == a);
      b = std::move(a);
      CHECK(b == ViewOfRank(other_rank));
      a = ViewOfRank(rank);  // a moved-from view can be assigned
      CHECK(a == ViewOfRank(rank));
    }
  }
}

void TestContiguity() {
  const auto contiguous = [](Sizes shape, Sizes strides) {
    return TensorView(storage, shape, strides, DataType::kFloat32, kCpu).is_contiguous();
  };
  CHECK(contiguous({2, 3}, {3, 1}));
  CHECK(!contiguous({2, 3}, {1, 2}));
  CHECK(contiguous({1, 7}, {1, 1}));
  CHECK(contiguous({1, 7}, {-5, 1}));
  CHECK(contiguous({7, 1}, {1, 99}));
  CHECK(contiguous({0, 3}, {7, 7}));
  CHECK(contiguous({}, {}));
  CHECK(!contiguous({3}, {-1}));
  CHECK(!contiguous({3}, {0}));
  CHECK(TensorView(storage, {2, 3, 4}, DataType::kFloat32, kCpu).stride(0) == 12);
  CHECK(TensorView(storage, {2, 0, 4}, DataType::kFloat32, kCpu).numel() == 0);

  const auto dense = [](Sizes shape, Sizes strides) {
    return TensorView(storage, shape, strides, DataType::kFloat32, kCpu)
        .is_non_overlapping_and_dense();
  };
  CHECK(dense({2, 3}, {1, 2}));
  CHECK(dense({2, 1, 3}, {1, 50, 2}));
  CHECK(!dense({2, 3}, {4, 1}));
  CHECK(!dense({2, 3}, {0, 1}));
  CHECK(
      TensorView(storage + 9, {10}, {-1}, DataType::kFloat32, kCpu).is_non_overlapping_and_dense());
}

void TestOverlap() {
  const auto view = [](float* data, Sizes shape, Sizes strides, Device device = kCpu) {
    return TensorView(data, shape, strides, DataType::kFloat32, device);
  };
  const TensorView whole = view(storage, {8}, {1});
  CHECK(whole.may_overlap(view(storage + 7, {4}, {1})));
  CHECK(!whole.may_overlap(view(storage + 8, {4}, {1})));
  CHECK(whole.may_overlap(view(storage + 10, {4}, {-1})));
  CHECK(!whole.may_overlap(view(storage + 11, {4}, {-1})));
  CHECK(!whole.may_overlap(view(storage + 3, {0}, {1})));
  CHECK(!whole.may_overlap(view(storage, {8}, {1}, Device(Device::Type::kSim, 0))));
  CHECK(view(storage, {2, 3}, {0, 1}).may_overlap_itself());
  CHECK(view(storage, {3, 3}, {1, 1}).may_overlap_itself());
  CHECK(!view(storage, {2, 3}, {1, 2}).may_overlap_itself());
  CHECK(!view(storage + 5, {3, 2}, {-2, -1}).may_overlap_itself());
  CHECK(!view(storage, {1, 3}, {0, 1}).may_overlap_itself());
  const auto range = view(storage + 5, {3, 2}, {-2, 1}).byte_range();
  CHECK_EQ(range.begin, reinterpret_cast<const std::byte*>(storage + 1));
  CHECK_EQ(range.end, reinterpret_cast<const std::byte*>(storage + 7));
}

void TestRefusals() {
  const std::int64_t big = std::int64_t{1} << 40;
  const auto make = [](void* data, Sizes shape, Sizes strides,
                       DataType dtype = DataType::kFloat32) {
    return TensorView(data, shape, strides, dtype, kCpu);
  };
  CHECK_THROWS(make(storage, {2, 3}, {1}), ErrorCode::kInvalidArgument,
               "[2, 3] has 2 dimensions but strides [1] have 1");
  CHECK_THROWS(make(storage, {2, -3}, {1, 1}), ErrorCode::kInvalidArgument,
               "size -3 of dimension 1");
  CHECK_THROWS(make(storage, {big, big}, {1, 1}), ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(TensorView(storage, {big, big}, DataType::kInt8, kCpu), ErrorCode::kInvalidArgument,
               "2^63");
  CHECK_THROWS(make(storage, {big}, {big}), ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(make(storage, {3}, {INT64_MIN}), ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(make(storage, {2}, {INT64_MIN}), ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(TensorView(storage, {std::int64_t{1} << 61}, DataType::kFloat64, kCpu),
               ErrorCode::kInvalidArgument, "2^63");
  CHECK_THROWS(make(nullptr, {1}, {1}), ErrorCode::kInvalidArgument, "data is null");
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  CHECK_THROWS(make(at(UINTPTR_MAX - 3), {100}, {1}), ErrorCode::kInvalidArgument, "address space");
  CHECK_THROWS(make(at(8), {100}, {-1}), ErrorCode::kInvalidArgument, "address space");
  CHECK_EQ(make(at(396), {100}, {-1}).numel(), std::int64_t{100});
  CHECK_THROWS(make(storage, {1}, {1}, static_cast<DataType>(99)), ErrorCode::kTypeMismatch, "99");
  CHECK_THROWS(make(storage, {2}, {1}).size(1), ErrorCode::kIndexOutOfRange, "dimension 1");
  CHECK_THROWS(make(storage, {2}, {1}).stride(-2), ErrorCode::kIndexOutOfRange, "dimension -2");
  CHECK_THROWS(make(storage, Sizes(9, 2), Sizes(8, 1)), ErrorCode::kInvalidArgument,
               "9 dimensions");
  CHECK_THROWS(make(storage, Sizes(10, big), Sizes(10, 1)), ErrorCode::kInvalidArgument, "2^63");

  // Metadata beyond 2^31 elements is fine, and so are empty views with huge sizes, strides and no
  // data.
  CHECK_EQ(TensorView(storage, {3, std::int64_t{1} << 31}, DataType::kFloat32, kCpu).numel(),
           std::int64_t{3} << 31);
  CHECK_EQ(make(nullptr, {big, big, 0}, {big, big, big}).numel(), std::int64_t{0});
  CHECK(make(nullptr, {big, big, 0}, {big, big, big}).is_contiguous());
  CHECK(make(nullptr, {big, 0, big}, {big, big, big}).byte_range().begin == nullptr);
  CHECK_EQ(make(storage, {1}, {INT64_MIN}).numel(), std::int64_t{1});
}

void TestText() {
  CHECK_EQ(TensorView(storage, {2, 3}, DataType::kBFloat16, kCpu).ToString(),
           std::string("bfloat16[2, 3] on cpu:0"));
  CHECK_EQ(TensorView(storage, {2, 3}, {1, 2}, DataType::kFloat32, Device(Device::Type::kSim, 1))
               .ToString(),
           std::string("float32[2, 3] on sim:1, strides [1, 2]"));
  CHECK(TensorView() == TensorView());
  CHECK_EQ(TensorView().numel(), std::int64_t{0});
  const TensorView a(storage, {2, 3}, DataType::kFloat32, kCpu);
  CHECK(!(a == TensorView(storage, {3, 2}, DataType::kFloat32, kCpu)));
  CHECK(!(a == TensorView(storage, {2, 3}, {1, 2}, DataType::kFloat32, kCpu)));
  CHECK(!(a == TensorView(storage, {2, 3}, DataType::kInt32, kCpu)));
  CHECK(!(a == TensorView(storage + 1, {2, 3}, DataType::kFloat32, kCpu)));
  CHECK_EQ(a.nbytes(), std::int64_t{24});
}

}  // namespace

int main() {
  TestRanks();
  TestContiguity();
  TestOverlap();
  TestRefusals();
  TestText();
  return testing::Finish();
}
