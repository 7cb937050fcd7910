import { connect } from 'node:net'

/** Sends raw bytes and returns what is received until `until` matches or the connection ends. */
export function exchange(url: string, sent: string | Buffer, until: RegExp = /\r\n\r\n[\s\S]*\}/): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => void socket.write(sent))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (until.test(text)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

/**
 * Sends a head with `Expect: 100-continue`, calls `meanwhile` once the body is requested, and then sends it. Returns the final response.
 */
export function withheld(url: string, head: string, body: string, meanwhile: () => Promise<unknown>): Promise<string> {
  const { hostname, port } = new URL(url)
  const asked = /^HTTP\/1\.1 100 [^\r]*\r\n\r\n/
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => void socket.write(head))
    let text = ''
    let sent = false
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!sent && asked.test(text)) {
        sent = true
        text = text.replace(asked, '')
        meanwhile().then(() => socket.write(body), reject)
      }
      if (/\r\n\r\n[\s\S]*\}/.test(text)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}

/** A request line and headers; names may repeat. */
export function requestHead(url: string, line: string, headers: readonly (readonly [string, string])[]): string {
  return [line, `host: ${new URL(url).host}`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n')
}
