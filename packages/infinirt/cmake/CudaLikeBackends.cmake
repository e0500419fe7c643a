# Accelerator backends: which options go together, where their SDKs are, what they add to the library.
#
# Builds that test a backend without its SDK and device use the stand-in of tests/standin_sdk: build and install it
# for the vendor, then give its prefix as INFINI_RT_<VENDOR>_ROOT. Nothing here knows that it is a stand-in; the
# tests find out by its header standin.h (tests/cpp/cuda_like_tests.cmake).

set(INFINI_RT_CUDA_LIKE_VENDORS NVIDIA ILUVATAR HYGON THEAD METAX MOORE)
foreach(vendor IN LISTS INFINI_RT_CUDA_LIKE_VENDORS)
  set(INFINI_RT_${vendor}_ROOT "" CACHE PATH "Install folder of the SDK for WITH_${vendor}; empty: look for it.")
endforeach()

# Describes the SDK of `vendor` in the caller's variables `sdk_*`: its name, its header, its libraries (the first that
# exists is linked), the environment variables that name its folder, its usual folder.
function(infini_rt_describe_sdk vendor)
  set(header cuda_runtime.h)
  set(libraries cudart)
  set(variables "")
  if(vendor STREQUAL "NVIDIA")
    # Static, so that the library loads where there is no CUDA.
    set(name "CUDA toolkit 12 or newer")
    set(libraries cudart_static cudart)
    set(folder "")
  elseif(vendor STREQUAL "ILUVATAR")
    set(name "Iluvatar CoreX SDK")
    set(variables COREX_HOME)
    set(folder /usr/local/corex)
  elseif(vendor STREQUAL "HYGON")
    set(name "Hygon DTK")
    set(variables DTK_ROOT ROCM_PATH)
    set(folder /opt/dtk)
  elseif(vendor STREQUAL "THEAD")
    set(name "T-Head PPU SDK")
    set(variables PPU_SDK)
    set(folder /usr/local/PPU_SDK)
  elseif(vendor STREQUAL "METAX")
    set(name "MetaX MACA SDK")
    set(header mcr/mc_runtime.h)
    set(libraries mcruntime)
    set(variables MACA_PATH)
    set(folder /opt/maca)
  elseif(vendor STREQUAL "MOORE")
    set(name "Moore Threads MUSA SDK")
    set(header musa_runtime.h)
    set(libraries musart)
    set(variables MUSA_HOME)
    set(folder /usr/local/musa)
  else()
    message(FATAL_ERROR "infini_rt_describe_sdk: unknown vendor \"${vendor}\".")
  endif()
  foreach(property name header libraries variables folder)
    set(sdk_${property} "${${property}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Sets the caller's `sdk_root` to where the SDK described by `sdk_*` is looked for: what the option says, else the first
# environment variable that is set, else the usual folder. The first place that is named is the only one.
function(infini_rt_choose_sdk_root vendor)
  set(root "${INFINI_RT_${vendor}_ROOT}")
  foreach(variable IN LISTS sdk_variables)
    if(NOT root)
      set(root "$ENV{${variable}}")
    endif()
  endforeach()
  if(NOT root)
    set(root "${sdk_folder}")
  endif()
  set(sdk_root "${root}" PARENT_SCOPE)
endfunction()

# Ends the configuration because the SDK of `vendor` was not found in `place`.
function(infini_rt_fail_without_sdk vendor place)
  string(JOIN " or lib" library_names ${sdk_libraries})
  string(JOIN " or " variable_names INFINI_RT_${vendor}_ROOT ${sdk_variables})
  message(FATAL_ERROR
    "WITH_${vendor}=ON needs the ${sdk_name}, but ${sdk_header} with lib${library_names} was not found ${place}; set "
    "${variable_names} to the folder where it is installed.")
endfunction()

# Adds the backend of `vendor` to `target`.
function(infini_rt_add_cuda_like_backend target vendor)
  infini_rt_describe_sdk(${vendor})
  infini_rt_choose_sdk_root(${vendor})
  if(vendor STREQUAL "NVIDIA" AND NOT sdk_root)
    find_package(CUDAToolkit 12 QUIET)
    if(NOT TARGET CUDA::cudart_static)
      infini_rt_fail_without_sdk(${vendor} "by find_package(CUDAToolkit)")
    endif()
    set(include_dirs ${CUDAToolkit_INCLUDE_DIRS})
    set(library CUDA::cudart_static)
  else()
    find_path(include_dirs ${sdk_header} PATHS "${sdk_root}" PATH_SUFFIXES include cuda/include
      NO_DEFAULT_PATH NO_CACHE)
    find_library(library NAMES ${sdk_libraries} NAMES_PER_DIR PATHS "${sdk_root}"
      PATH_SUFFIXES lib lib64 cuda/lib cuda/lib64 NO_DEFAULT_PATH NO_CACHE)
    if(NOT include_dirs OR NOT library)
      infini_rt_fail_without_sdk(${vendor} "in ${sdk_root}")
    endif()
    get_filename_component(library_folder "${library}" DIRECTORY)
    if(library MATCHES "\\.so$")
      # The library belongs to the SDK it was built with; a consumer links without knowing where that is.
      set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${library_folder}")
    endif()
  endif()
  message(STATUS "InfiniRT: WITH_${vendor} uses ${library} and ${include_dirs}")

  string(TOLOWER ${vendor} folder)
  target_sources(${target} PRIVATE
    src/backends/cuda_like/host_task.cc
    src/backends/${folder}/backend.cc)
  target_include_directories(${target} SYSTEM PRIVATE ${include_dirs})
  target_compile_definitions(${target} PRIVATE INFINI_RT_WITH_${vendor})
  target_link_libraries(${target} PRIVATE ${library} Threads::Threads ${CMAKE_DL_LIBS} rt)
  # A process may hold another copy of the CUDA runtime; the two must not see each other's functions.
  target_link_options(${target} PRIVATE "LINKER:--exclude-libs,libcudart_static.a")
  set_property(GLOBAL PROPERTY INFINI_RT_CUDA_LIKE_INCLUDE_DIRS ${include_dirs})
  set_property(GLOBAL PROPERTY INFINI_RT_CUDA_LIKE_LIBRARY ${library})
endfunction()

# Ends the configuration when the WITH_* options do not make a build.
function(infini_rt_check_backend_options)
  foreach(vendor CAMBRICON ASCEND)
    if(WITH_${vendor})
      message(FATAL_ERROR
        "WITH_${vendor}=ON is not supported yet; the backend comes in a later release, so leave the option off.")
    endif()
  endforeach()
  set(enabled "")
  foreach(vendor IN LISTS INFINI_RT_CUDA_LIKE_VENDORS)
    if(WITH_${vendor})
      list(APPEND enabled "WITH_${vendor}")
    endif()
  endforeach()
  list(LENGTH enabled count)
  if(count GREATER 1)
    string(JOIN " and " names ${enabled})
    message(FATAL_ERROR "A build holds one GPU backend, but ${names} are ON; leave one of them on.")
  endif()
  if(count EQUAL 0 AND NOT WITH_CPU AND NOT WITH_SIM)
    list(TRANSFORM INFINI_RT_CUDA_LIKE_VENDORS PREPEND "WITH_" OUTPUT_VARIABLE options)
    string(JOIN ", " names ${options})
    message(FATAL_ERROR "A build needs a backend, but none is ON; set -DWITH_CPU=ON, -DWITH_SIM=ON or one of ${names}.")
  endif()
endfunction()

# Adds the accelerator backends that the WITH_* options ask for to `target`, after checking the options.
function(infini_rt_configure_accelerators target)
  infini_rt_check_backend_options()
  foreach(vendor IN LISTS INFINI_RT_CUDA_LIKE_VENDORS)
    if(WITH_${vendor})
      infini_rt_add_cuda_like_backend(${target} ${vendor})
    endif()
  endforeach()
endfunction()
