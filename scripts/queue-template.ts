// Part of the build: creates a data directory of the embedded queue, which a first start unpacks instead of creating its own.
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { openEmbedded } from '../plugins/queues/embedded/open.js'
import { builtTemplate, templateMatches, writeTemplate } from '../plugins/queues/embedded/template.js'

const file = builtTemplate() ?? resolve('dist/queue-template')
/** A cache that survives builds; the content changes only with the versions of PGlite and BullMQ. */
const kept = resolve('node_modules/.cache/zin/queue-template')

if (!(await templateMatches(kept))) {
  const folder = await mkdtemp(join(tmpdir(), 'zin-template-'))
  try {
    const store = await openEmbedded({ dataDir: folder, fsync: false, template: undefined })
    await store.scrub()
    await store.close()
    await writeTemplate(kept, join(folder, 'queue'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
await mkdir(dirname(file), { recursive: true })
await copyFile(kept, file)
