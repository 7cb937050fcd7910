import { fdatasyncSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'
import type { NodeFS } from '@electric-sql/pglite/nodefs'

interface NodeFsStream {
  readonly nfd?: number
}

interface ModuleWithNodeFs {
  readonly NODEFS?: { readonly stream_ops: { fsync?: (stream: NodeFsStream) => number } }
}

/** PGlite's file system on a folder, with the missing fsync. */
export async function fsyncNodeFs(dataDir: string): Promise<NodeFS> {
  const { NodeFS } = await import('@electric-sql/pglite/nodefs')
  class FsyncNodeFS extends NodeFS {
    override async init(pg: PGlite, options: Parameters<NodeFS['init']>[1]) {
      const result = await super.init(pg, options)
      result.emscriptenOpts.preRun = [
        ...[result.emscriptenOpts.preRun ?? []].flat(),
        (module: unknown) => addFsync(module as ModuleWithNodeFs),
      ]
      return result
    }
  }
  return new FsyncNodeFS(dataDir)
}

function addFsync(module: ModuleWithNodeFs): void {
  if (!module.NODEFS) throw new Error('this version of PGlite does not expose its NODEFS, so fsync cannot be added')
  module.NODEFS.stream_ops.fsync = ({ nfd }) => {
    if (nfd !== undefined) fdatasyncSync(nfd)
    return 0
  }
}
