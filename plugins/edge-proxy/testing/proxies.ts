import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningProxy, runProxy } from '../local/run-proxy.js'
import type { EdgeSettings } from '../worker/config.js'
import { type EdgeClient, edgeClient, testSecret } from './edge-client.js'

/** Starts proxies in one runtime. */
export interface Proxies {
  /** Starts a proxy with a separate data folder. */
  start(settings: EdgeSettings): Promise<EdgeClient>
  stop(): Promise<void>
}

export function proxies(runtime: 'node' | 'workerd'): Proxies {
  const running: RunningProxy[] = []
  const folders: string[] = []
  return {
    async start(settings) {
      const dataDir = await mkdtemp(join(tmpdir(), 'zin-edge-'))
      folders.push(dataDir)
      const proxy = await runProxy({
        folder: import.meta.dirname,
        dataDir,
        settings: { EDGE_REMOTE_SECRET: testSecret, EDGE_RATE_PER_MINUTE: '0', ...settings },
        binding: 'DB',
        host: '127.0.0.1',
        port: 0,
        runtime,
        onError: () => undefined,
      })
      running.push(proxy)
      return edgeClient(proxy.url)
    },
    async stop() {
      for (const proxy of running) await proxy.close()
      for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Starts a proxy for the shared contract of both SQL proxies. */
export async function openEdge(runtime: 'node' | 'workerd', mode: 'sql' | 'registry', statements: string, dataDir: string) {
  const proxy = await runProxy({
    folder: import.meta.dirname,
    dataDir,
    settings: { EDGE_REMOTE_SECRET: testSecret, EDGE_RATE_PER_MINUTE: '0', EDGE_REMOTE_MODE: mode, EDGE_STATEMENTS_JSON: statements },
    binding: 'DB',
    host: '127.0.0.1',
    port: 0,
    runtime,
    onError: () => undefined,
  })
  return { url: proxy.url, base: '/svc/edge/', keyId: 'tests', secret: testSecret, close: () => proxy.close() }
}
