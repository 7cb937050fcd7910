import { localError } from './proxy-error.js'

/** Reads the text of a response of at most `maxBytes`; cancels a longer one. */
export async function readBody(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of boundedChunks(response, maxBytes)) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}

/** Yields the lines of a response, each limited by `maxBytes`. Closes the connection if the reader stops early. */
export async function* readLines(response: Response, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of boundedChunks(response, Number.POSITIVE_INFINITY)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxBytes) throw tooLarge(maxBytes)
    yield* lines.filter((line) => line !== '')
  }
  if (rest !== '') yield rest
}

async function* boundedChunks({ body }: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  if (body === null) return
  const reader = body.getReader()
  let bytes = 0
  let ended = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      ended = done
      if (done) return
      bytes += value.byteLength
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield value
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined)
  }
}

function tooLarge(maxBytes: number) {
  return localError('RESPONSE_TOO_LARGE', `The response has more than ${maxBytes} bytes; select fewer rows, or raise maxResponseBytes`)
}
