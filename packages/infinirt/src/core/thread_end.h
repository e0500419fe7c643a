// What the end of a thread cleans up.
#ifndef INFINI_RT_CORE_THREAD_END_H_
#define INFINI_RT_CORE_THREAD_END_H_

namespace infini::rt {

/// Makes the end of the calling thread discard what it is capturing and forget its current streams.
void WatchThreadEnd();

}  // namespace infini::rt

#endif  // INFINI_RT_CORE_THREAD_END_H_
