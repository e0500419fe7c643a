# Run as a script with -DWITH_<BACKEND>=ON ...: what the configuration says about backend options that it refuses.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/CudaLikeBackends.cmake)
infini_rt_configure_accelerators(infinirt)
