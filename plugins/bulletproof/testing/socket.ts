import { connect } from 'node:net'

/** Sends bytes as they are and gives what comes back until `until` matches or the connection ends. */
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

/** A request line and headers; names may repeat. */
export function requestHead(url: string, line: string, headers: readonly (readonly [string, string])[]): string {
  return [line, `host: ${new URL(url).host}`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n')
}
