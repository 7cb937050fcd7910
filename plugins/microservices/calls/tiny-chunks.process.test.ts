import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runnable } from '../../../scripts/testing/runnable.js'

const chunks = 1_000_000
const transport = runnable(new URL('./transport.ts', import.meta.url))
const pieces = Buffer.from('1\r\nx\r\n'.repeat(10_000))

/** Starts a server that responds in one-byte chunks. */
async function tinyChunks(t: TestContext): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', async () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let sent = 0; sent < chunks; sent += 10_000) if (!socket.write(pieces)) await once(socket, 'drain')
      socket.end('0\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs a module in a process with a heap too small for one object per chunk; returns its output. */
async function inSmallHeap(code: string): Promise<string> {
  const args = ['--max-old-space-size=128', ...transport.execArgv, '--input-type=module', '--eval', code]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  await once(child, 'close')
  return output
}

test('a response in one-byte chunks uses memory in proportion to its size', async (t) => {
  const url = await tinyChunks(t)
  const request = `{ method: 'GET', path: '/', headers: {}, body: undefined, maxBytes: ${chunks}, timeoutMs: 60_000 }`
  const output = await inSmallHeap(`
    import { openConnections } from ${JSON.stringify(pathToFileURL(transport.file).href)}
    const connections = openConnections({ service: 'tiny', origin: '${url}', resolver: async () => ['127.0.0.1'] })
    const { body } = await connections.send(${request})
    connections.close()
    console.log(body.length)`)
  assert.equal(output.trim(), String(chunks))
})
