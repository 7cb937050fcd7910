import { defineErrors } from 'zin'

export const staticFilesErrors = defineErrors({
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    stack: false,
    message: (bytes: number) => `The file has ${bytes} bytes, and none of those that the header Range asks for`,
    headers: (bytes: number) => ({ 'Content-Range': `bytes */${bytes}` }),
    when: 'The header `Range` asks for bytes behind the end of a file',
    fix: 'Ask for bytes below the number in `Content-Range`',
  },
  STATIC_FILES_INVALID: {
    message: (problem: string) => `static-files: ${problem}`,
    when: 'A folder is missing, is that of the app, or two have the same prefix',
    fix: 'Correct what the message names',
  },
})
