// The public runtime functions as values, so that errors, fault plans and call counts share one
// list of names.
#ifndef INFINI_RT_CORE_FUNCTION_H_
#define INFINI_RT_CORE_FUNCTION_H_

namespace infini::rt {

// Each row: the function's name in `infini::rt::runtime` and the same in snake case.
#define INFINI_RT_FUNCTIONS(X)                         \
  X(DeviceCount, device_count)                         \
  X(GetDevice, get_device)                             \
  X(SetDevice, set_device)                             \
  X(GetDeviceProperties, get_device_properties)        \
  X(DeviceSynchronize, device_synchronize)             \
  X(GetMemoryInfo, get_memory_info)                    \
  X(Malloc, malloc)                                    \
  X(Free, free)                                        \
  X(MallocAsync, malloc_async)                         \
  X(FreeAsync, free_async)                             \
  X(MallocHost, malloc_host)                           \
  X(FreeHost, free_host)                               \
  X(Memcpy, memcpy)                                    \
  X(MemcpyAsync, memcpy_async)                         \
  X(Memset, memset)                                    \
  X(MemsetAsync, memset_async)                         \
  X(TaskPointer, task_pointer)                         \
  X(GetStreamPriorityRange, get_stream_priority_range) \
  X(StreamCreate, stream_create)                       \
  X(StreamDestroy, stream_destroy)                     \
  X(StreamQuery, stream_query)                         \
  X(StreamSynchronize, stream_synchronize)             \
  X(StreamWaitEvent, stream_wait_event)                \
  X(DefaultStream, default_stream)                     \
  X(CurrentStream, current_stream)                     \
  X(SetCurrentStream, set_current_stream)              \
  X(StreamDevice, stream_device)                       \
  X(StreamNativeHandle, stream_native_handle)          \
  X(StreamFromNativeHandle, stream_from_native_handle) \
  X(EventCreate, event_create)                         \
  X(EventDestroy, event_destroy)                       \
  X(EventRecord, event_record)                         \
  X(EventQuery, event_query)                           \
  X(EventSynchronize, event_synchronize)               \
  X(EventElapsedTime, event_elapsed_time)              \
  X(LaunchHost, launch_host)                           \
  X(StreamBeginCapture, stream_begin_capture)          \
  X(StreamEndCapture, stream_end_capture)              \
  X(StreamIsCapturing, stream_is_capturing)            \
  X(GraphInstantiate, graph_instantiate)               \
  X(GraphLaunch, graph_launch)                         \
  X(GraphTaskCount, graph_task_count)                  \
  X(GraphDestroy, graph_destroy)                       \
  X(GraphExecDestroy, graph_exec_destroy)

enum class Function {
#define INFINI_RT_FUNCTION_VALUE(name, snake) k##name,
  INFINI_RT_FUNCTIONS(INFINI_RT_FUNCTION_VALUE)
#undef INFINI_RT_FUNCTION_VALUE
};

inline constexpr const char* kFunctionNames[] = {
#define INFINI_RT_FUNCTION_NAME(name, snake) #name,
    INFINI_RT_FUNCTIONS(INFINI_RT_FUNCTION_NAME)
#undef INFINI_RT_FUNCTION_NAME
};

inline constexpr const char* kFunctionSnakeNames[] = {
#define INFINI_RT_FUNCTION_SNAKE(name, snake) #snake,
    INFINI_RT_FUNCTIONS(INFINI_RT_FUNCTION_SNAKE)
#undef INFINI_RT_FUNCTION_SNAKE
};

inline constexpr int kFunctionCount =
    static_cast<int>(sizeof(kFunctionNames) / sizeof(kFunctionNames[0]));

constexpr const char* FunctionName(Function function) noexcept {
  return kFunctionNames[static_cast<int>(function)];
}

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_FUNCTION_H_
