import { defineErrors } from 'zin'

const listed = (types: readonly string[]): string => types.join(', ')

export const uploadsErrors = defineErrors({
  INVALID_FORM: {
    status: 400,
    stack: false,
    message: (why: string) => `The form could not be read: ${why}`,
    when: 'A multipart form is malformed or incomplete, or a part has no usable name',
    fix: 'Correct the form',
  },
  UPLOAD_TOO_LARGE: {
    status: 413,
    stack: false,
    message: (field: string, most: number) => `A file in "${field}" is larger than ${most} bytes`,
    details: (field: string, most: number) => ({ field, maxSize: most }),
    when: 'A file is larger than `maxFileSize`, or `maxSize` of its field',
    fix: 'Send a smaller file, or raise the limit',
  },
  UPLOAD_TOO_MANY_FILES: {
    status: 413,
    stack: false,
    message: (field: string, most: number) => `The form has more than ${most} file(s)${field === '' ? '' : ` in "${field}"`}`,
    details: (field: string, most: number) => ({ ...(field !== '' && { field }), maxCount: most }),
    when: 'A form has more than `maxFiles` files, or a field more than its `maxCount`',
    fix: 'Send fewer files, or raise the limit',
  },
  UPLOAD_FIELDS_TOO_LARGE: {
    status: 413,
    stack: false,
    message: (most: number) => `The fields of the form are larger than ${most} bytes, or too many`,
    when: 'The fields that are not files have more than `maxFieldBytes`, or are more than 1000',
    fix: 'Send less text, or send it as a file',
  },
  UPLOAD_TYPE_REFUSED: {
    status: 415,
    stack: false,
    message: (field: string, found: string, types: readonly string[]) =>
      `A file in "${field}" is ${found} by its content; accepted: ${listed(types)}`,
    details: (field: string, found: string, types: readonly string[]) => ({ field, type: found, types }),
    when: 'The content of a file is of none of the accepted `types`, whatever its name says',
    fix: 'Send a file of a type that the message lists',
  },
  UPLOAD_UNEXPECTED: {
    status: 400,
    stack: false,
    message: (field: string) => `The form has a file in "${field}", where no file is expected`,
    details: (field: string) => ({ field }),
    when: 'A route with `files` gets a file in a field that it does not list',
    fix: 'Send the file in one of the fields of the route',
  },
  UPLOAD_MISSING: {
    status: 400,
    stack: false,
    message: (field: string) => `The form has no file in "${field}"`,
    details: (field: string) => ({ field }),
    when: 'A route with `files` gets no file in a field that is not `optional`',
    fix: 'Select a file',
  },
  UPLOAD_TOO_SLOW: {
    status: 408,
    stack: false,
    message: () => 'The form arrived too slowly; send it again',
    headers: { Connection: 'close' },
    when: 'Nothing arrived for `idleMs`, or the form was not complete after `deadlineMs`',
    fix: 'Send it again over a faster connection, or in parts',
  },
  UPLOADS_EXHAUSTED: {
    status: 503,
    stack: false,
    message: (most: number) => `This process receives ${most} forms already; try again later`,
    headers: { 'Retry-After': '5' },
    when: '`maxUploads` forms arrive at once',
    fix: 'Try again later, or add processes',
  },
  UPLOAD_NO_SPACE: {
    status: 507,
    message: (_cause: Error) => 'There is no space left for the upload',
    cause: (cause: Error) => cause,
    when: 'The disk of the temporary folder is full',
    fix: 'Free space, or set `folder`',
  },
  UPLOAD_STREAMED: {
    status: 500,
    message: (name: string) => `The file "${name}" went to a stream, so there is no temporary file to move`,
    when: 'A handler calls `moveTo` of a file that went to a stream (`streamFile` of the route)',
    fix: 'Move it where the stream put it',
  },
})
