import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { definePlugin, type PluginContext } from 'zin'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { uploads } from '../index.js'
import { openFiles } from './open-files.js'

export interface UploadApp {
  readonly host: TestHost
  readonly url: string
  /** Names of the temporary files that exist. */
  left(): Promise<readonly string[]>
  /** Number of temporary files that the process has open. */
  openFiles(): number
  /** Waits until no temporary file is left. */
  assertNothingLeft(): Promise<void>
  post(path: string, form: FormData, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
  readonly body: any
}

/** An app that listens, with uploads in a folder of its own. */
export async function uploadApp(
  t: TestContext,
  options: Parameters<typeof uploads>[0],
  setup: (ctx: PluginContext) => void,
  more: TestHostOptions = {},
): Promise<UploadApp> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-uploads-test-'))
  const shop = definePlugin({ name: 'shop', version: '1.0.0', setup })
  const { plugins = [], ...others } = more
  const host = await createTestHost({ ...others, plugins: [uploads({ folder, ...options }), ...plugins, shop()], listen: true })
  t.after(async () => {
    await host.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const left = async (): Promise<readonly string[]> => {
    const folders = await readdir(folder)
    return (await Promise.all(folders.map((name) => readdir(join(folder, name))))).flat()
  }
  return {
    host,
    url: host.url,
    left,
    openFiles: () => openFiles(folder),
    assertNothingLeft: () => eventually('no temporary file is left', async () => (await left()).length === 0),
    post: async (path, form, headers = {}) => {
      const response = await fetch(`${host.url}${path}`, { method: 'POST', body: form, headers })
      const text = await response.text()
      return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
    },
  }
}

/** A form with fields and files. */
export function formOf(entries: readonly (readonly [name: string, value: string | File])[]): FormData {
  const form = new FormData()
  for (const [name, value] of entries) form.append(name, value as string)
  return form
}

const png = Buffer.from(
  '89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c63000100000500010d0a2db40000000049454e44ae426082',
  'hex',
)

/** A file that is a PNG of at least `bytes` bytes, whatever its name says. */
export const pngFile = (name = 'a.png', bytes = png.length): File =>
  new File([png, Buffer.alloc(Math.max(0, bytes - png.length))], name, { type: 'image/png' })
