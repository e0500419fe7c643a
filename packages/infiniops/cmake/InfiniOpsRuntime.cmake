# Finds InfiniRT: INFINI_RT_ROOT as a CMake variable, then in the environment, else the prefix of the `infinirt` that the
# interpreter of the build can import.

# Before configuring stops for what an interpreter lacks: the next run, in the right environment, looks for one anew
# instead of taking the wrong one from the cache. An interpreter that the user named stays.
function(infini_ops_forget_python)
  get_cmake_property(names CACHE_VARIABLES)
  list(FILTER names INCLUDE REGEX "^_Python_")
  foreach(name ${names})
    unset(${name} CACHE)
  endforeach()
endfunction()

macro(infini_ops_find_runtime)
  set(infini_rt_hint "${INFINI_RT_ROOT}")
  set(infini_rt_origin "INFINI_RT_ROOT")
  if(NOT infini_rt_hint AND NOT "$ENV{INFINI_RT_ROOT}" STREQUAL "")
    set(infini_rt_hint "$ENV{INFINI_RT_ROOT}")
    set(infini_rt_origin "the environment's INFINI_RT_ROOT")
  endif()
  if(NOT infini_rt_hint)
    find_package(Python 3.10 COMPONENTS Interpreter)
    if(Python_EXECUTABLE)
      execute_process(COMMAND ${Python_EXECUTABLE} -m infinirt --prefix
        OUTPUT_VARIABLE infini_rt_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE absent)
      if(absent)
        set(infini_rt_hint "")
      endif()
      set(infini_rt_origin "the Python package infinirt of ${Python_EXECUTABLE}")
    endif()
  endif()
  if(NOT infini_rt_hint)
    infini_ops_forget_python()
    message(FATAL_ERROR "InfiniRT was not found: pass its install prefix as -DINFINI_RT_ROOT=PREFIX, or install the "
      "Python package infinirt. A build by pip does not see what is installed: set "
      "INFINI_RT_ROOT=$(python -m infinirt --prefix) in its environment.")
  endif()
  # Only that prefix: another InfiniRT on the machine is never taken by accident.
  set(InfiniRT_DIR "InfiniRT_DIR-NOTFOUND")
  find_package(InfiniRT CONFIG PATHS ${infini_rt_hint} NO_DEFAULT_PATH)
  if(NOT InfiniRT_FOUND)
    message(FATAL_ERROR "${infini_rt_hint} (from ${infini_rt_origin}) is no InfiniRT prefix: it has no CMake package "
      "InfiniRT that fits.")
  endif()
  get_target_property(infini_rt_includes InfiniRT::infinirt INTERFACE_INCLUDE_DIRECTORIES)
  find_file(infini_rt_abi_header infini/rt/abi.h PATHS ${infini_rt_includes} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  file(STRINGS ${infini_rt_abi_header} infini_rt_abi_line REGEX "#define INFINI_RT_ABI_VERSION")
  string(REGEX REPLACE ".* ([0-9]+)$" "\\1" INFINI_RT_ABI_VERSION "${infini_rt_abi_line}")
  foreach(backend CPU SIM)
    string(TOLOWER ${backend} lower)
    if(WITH_${backend} AND NOT lower IN_LIST InfiniRT_BACKENDS)
      message(FATAL_ERROR "WITH_${backend}=ON needs an InfiniRT with ${lower}; the one in ${infini_rt_hint} has: "
        "${InfiniRT_BACKENDS}.")
    endif()
  endforeach()
  message(STATUS "InfiniOps: InfiniRT ${InfiniRT_VERSION} from ${infini_rt_origin}")
endmacro()
