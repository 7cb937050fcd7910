import { open } from 'node:fs/promises'
import { messageOf } from 'zin'
import { microserviceErrors } from '../errors.js'
import { isObject, type Json } from './json.js'

/** Largest document, in bytes. */
export const maxDocumentBytes = 8_388_608

/** Returns an OpenAPI 3 document from JSON text or parsed data. Throws SERVICE_DOCUMENT_INVALID. */
export function documentOf(data: unknown, place: string): Json {
  const document = typeof data === 'string' ? parsed(data, place) : data
  if (!isObject(document) || typeof document.openapi !== 'string' || !/^3\.\d/.test(document.openapi))
    throw microserviceErrors.SERVICE_DOCUMENT_INVALID(place, 'it has no field "openapi" with a version 3.x')
  return document
}

/** Reads the text of a file. Throws SERVICE_DOCUMENT_INVALID if it cannot be read or is too large. */
export async function documentFile(path: string): Promise<string> {
  try {
    const file = await open(path)
    try {
      if ((await file.stat()).size > maxDocumentBytes) throw new Error(`it is larger than ${maxDocumentBytes} bytes`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    throw microserviceErrors.SERVICE_DOCUMENT_INVALID(path, messageOf(error))
  }
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw microserviceErrors.SERVICE_DOCUMENT_INVALID(place, `it is not JSON (${messageOf(error)})`)
  }
}
