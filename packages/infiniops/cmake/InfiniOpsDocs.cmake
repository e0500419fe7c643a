# The C++ reference, by Doxygen: cmake --build BUILD --target infiniops_docs writes BUILD/docs/reference/html.

function(infini_ops_add_docs)
  find_package(Doxygen)
  if(NOT Doxygen_FOUND)
    message(FATAL_ERROR "INFINI_OPS_BUILD_DOCS=ON needs Doxygen (Debian: apt-get install doxygen).")
  endif()
  set(DOXYGEN_PROJECT_NAME InfiniOps)
  set(DOXYGEN_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/docs/reference)
  set(DOXYGEN_EXTRACT_ALL YES)
  set(DOXYGEN_MARKDOWN_SUPPORT YES)
  set(DOXYGEN_STRIP_FROM_PATH ${PROJECT_SOURCE_DIR}/include ${INFINI_OPS_GENERATED_DIR}/include)
  doxygen_add_docs(infiniops_docs ${PROJECT_SOURCE_DIR}/include ${INFINI_OPS_GENERATED_DIR}/include)
endfunction()
