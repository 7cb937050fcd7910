import { defineErrors } from 'zin'

export const compressionErrors = defineErrors({
  BODY_NOT_DECODABLE: {
    status: 400,
    stack: false,
    message: (coding: string) => `The body is not what its Content-Encoding says: it is not complete ${coding}`,
    when: 'A compressed body is damaged, cut off or not compressed',
    fix: 'Compress the body as `Content-Encoding` says, or leave that header out',
  },
})
