import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface RunningApp {
  readonly url: string
  /** Sends SIGTERM; rejects unless the app exits with code 0. */
  stop(): Promise<void>
}

/** Starts the app in `folder` on a free port; resolves when it is ready. If it fails, the error contains its output. */
export async function startApp(folder: string): Promise<RunningApp> {
  const port = await freePort()
  const cli = fileURLToPath(new URL('dist/cli.js', import.meta.resolve('zin/package.json')))
  const child = spawn(process.execPath, [cli, 'start'], {
    cwd: folder,
    env: { ...process.env, PORT: `${port}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const read = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  for (const until = Date.now() + 60_000; !(await isReady(url)); await delay(50)) {
    if (child.exitCode !== null || Date.now() > until) {
      child.kill('SIGKILL')
      throw new Error(`the app did not become ready:\n${output}`)
    }
  }
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      if (code !== 0) throw new Error(`the app exited with code ${code}:\n${output.slice(-4000)}`)
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/ready`)).ok
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
