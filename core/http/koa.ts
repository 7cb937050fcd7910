import { createRequire } from 'node:module'
import type Koa from 'koa'
import { brokenResponseLog } from './access-log.js'
import type { HttpAppOptions } from './app.js'
import { type ContextFactory, contextFactory } from './context.js'
import type { PipelineParts } from './pipeline.js'
import { setResponders } from './refusal-body.js'
import { acceptStreams } from './send-stream.js'

/** Koa and its contexts, loaded on first use: a command serves no requests, and would spend a tenth of its time on loading them. */
export function lazyKoa(options: HttpAppOptions): Pick<PipelineParts, 'koa' | 'contexts'> {
  let koa: Koa | undefined
  let contexts: ContextFactory | undefined
  const load = (): Koa => {
    koa ??= loadKoa(options)
    return koa
  }
  return {
    get koa() {
      return load()
    },
    contexts: (req, res, requestId) => {
      contexts ??= contextFactory(load())
      return contexts(req, res, requestId)
    },
  }
}

function loadKoa({ trustedProxies, production, responders = {}, log }: HttpAppOptions): Koa {
  const Application = createRequire(import.meta.url)('koa') as typeof Koa
  const koa = new Application({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies, env: production ? 'production' : 'development' })
  koa.on('error', brokenResponseLog(log))
  acceptStreams(koa)
  setResponders(koa, responders)
  return koa
}
