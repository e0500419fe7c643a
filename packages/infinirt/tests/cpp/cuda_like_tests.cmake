# Tests of the CUDA-like backend of this build, if it has one.
#
# Against the stand-in SDK (tests/standin_sdk) all of them run. Against a real SDK the faults cannot be injected, and
# without a device `cuda_like_test` is skipped after it has checked what a machine without one gets.

# Adds a program and a test that runs it. With the stand-in it runs once more with streams that do their work as late as
# they may.
function(infini_rt_add_cuda_like_test name)
  add_executable(${name} ${name}.cc)
  infini_rt_set_compile_rules(${name})
  target_link_libraries(${name} PRIVATE infinirt Threads::Threads)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
  if(standin_dir)
    add_test(NAME ${name}_lazy COMMAND ${name})
    set_tests_properties(${name}_lazy PROPERTIES TIMEOUT 120 ENVIRONMENT STANDIN_LAZY=1)
  endif()
endfunction()

# Adds a test that configuring with `ARGN` ends with `sentence`.
function(infini_rt_add_refusal_test name sentence)
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" pattern "${sentence}")
  string(REPLACE " " "[ \n]+" pattern "${pattern}")  # CMake breaks lines
  add_test(NAME backend_options_${name}
    COMMAND ${CMAKE_COMMAND} ${ARGN} -P ${CMAKE_CURRENT_SOURCE_DIR}/backend_options.cmake)
  set_tests_properties(backend_options_${name} PROPERTIES PASS_REGULAR_EXPRESSION "${pattern}")
endfunction()

function(infini_rt_add_backend_option_tests)
  infini_rt_add_refusal_test(none
    "A build needs a backend, but none is ON; set -DWITH_CPU=ON, -DWITH_SIM=ON or one of WITH_NVIDIA, WITH_ILUVATAR,")
  infini_rt_add_refusal_test(two_gpu_backends
    "A build holds one GPU backend, but WITH_NVIDIA and WITH_METAX are ON; leave one of them on."
    -DWITH_CPU=ON -DWITH_NVIDIA=ON -DWITH_METAX=ON)
  foreach(vendor CAMBRICON ASCEND)
    infini_rt_add_refusal_test(${vendor}
      "WITH_${vendor}=ON is not supported yet; the backend comes in a later release, so leave the option off."
      -DWITH_CPU=ON -DWITH_${vendor}=ON)
  endforeach()
  infini_rt_add_refusal_test(missing_sdk
    "WITH_METAX=ON needs the MetaX MACA SDK, but mcr/mc_runtime.h with libmcruntime was not found in /nowhere; set INFINI_RT_METAX_ROOT or MACA_PATH to the folder where it is installed."
    -DWITH_METAX=ON -DINFINI_RT_METAX_ROOT=/nowhere)
  infini_rt_add_refusal_test(missing_cuda
    "WITH_NVIDIA=ON needs the CUDA toolkit 12 or newer, but cuda_runtime.h with libcudart_static or libcudart was not found in /nowhere; set INFINI_RT_NVIDIA_ROOT to"
    -DWITH_NVIDIA=ON -DINFINI_RT_NVIDIA_ROOT=/nowhere)
  infini_rt_add_refusal_test(no_toolkit
    "was not found by find_package(CUDAToolkit); set INFINI_RT_NVIDIA_ROOT to the folder where it is installed."
    -DWITH_NVIDIA=ON -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)
  infini_rt_add_refusal_test(sdk_of_environment
    "was not found in /elsewhere; set INFINI_RT_MOORE_ROOT or MUSA_HOME to the folder where it is installed."
    -DWITH_MOORE=ON)
  set_tests_properties(backend_options_sdk_of_environment PROPERTIES ENVIRONMENT MUSA_HOME=/elsewhere)
endfunction()

# Adds every test of this file. Those of the WITH_* options need no backend.
function(infini_rt_add_cuda_like_tests)
  infini_rt_add_backend_option_tests()
  get_property(include_dirs GLOBAL PROPERTY INFINI_RT_CUDA_LIKE_INCLUDE_DIRS)
  get_property(library GLOBAL PROPERTY INFINI_RT_CUDA_LIKE_LIBRARY)
  if(NOT library)
    return()
  endif()
  find_path(standin_dir standin.h PATHS ${include_dirs} NO_DEFAULT_PATH NO_CACHE)
  infini_rt_add_cuda_like_test(cuda_like_test)
  infini_rt_add_cuda_like_test(cuda_like_graph_test)
  # The same program on a machine without devices: both ways to hide them.
  add_test(NAME cuda_like_no_device_test COMMAND cuda_like_test --no-device)
  set_tests_properties(cuda_like_no_device_test PROPERTIES
    TIMEOUT 120 ENVIRONMENT "STANDIN_DEVICES=0;CUDA_VISIBLE_DEVICES=")
  if(standin_dir)
    infini_rt_add_cuda_like_test(cuda_like_fault_test)
    target_include_directories(cuda_like_fault_test SYSTEM PRIVATE ${standin_dir})
    target_link_libraries(cuda_like_fault_test PRIVATE ${library})
  endif()
endfunction()
