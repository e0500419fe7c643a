# How the project's own targets are compiled.

find_package(Threads REQUIRED)

# Warnings, visibility and sanitizers of every target of the project. Consumers see none of it.
function(infini_rt_set_compile_rules target)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: a false alarm inside std::string's concatenation.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(INFINI_RT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(INFINI_RT_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  elseif(INFINI_RT_SANITIZE STREQUAL "thread")
    set(flags -fsanitize=thread)
  elseif(NOT INFINI_RT_SANITIZE STREQUAL "")
    message(FATAL_ERROR
      "INFINI_RT_SANITIZE is \"${INFINI_RT_SANITIZE}\"; expected empty, \"address\" or \"thread\".")
  endif()
  if(INFINI_RT_SANITIZE)
    target_compile_options(${target} PRIVATE ${flags} -g)
    target_link_options(${target} PRIVATE ${flags})
  endif()
endfunction()

# Links `target` with the GNU OpenMP runtime by its SONAME, so that the process has one OpenMP runtime: PyTorch loads the
# same one. GCC finds it by itself; Clang needs the file that GCC would take.
function(infini_rt_link_openmp_runtime target)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgomp.so
    OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${library}")
    find_library(INFINI_RT_GOMP_LIBRARY NAMES gomp libgomp.so.1)
    set(library ${INFINI_RT_GOMP_LIBRARY})
  endif()
  if(NOT library)
    message(FATAL_ERROR "libgomp was not found; install GCC's OpenMP runtime (Debian: apt-get install libgomp1 g++).")
  endif()
  target_link_libraries(${target} PRIVATE ${library} Threads::Threads)
endfunction()
