import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { consoleErrors } from './errors.js'

/** A file in every encoding in which it is served. */
export interface Asset {
  readonly type: string
  readonly etag: string
  readonly forms: Readonly<Record<'identity' | 'gzip' | 'br', Buffer>>
}

/** The manifest written by the build. */
interface Manifest {
  readonly script: string
  readonly style: string
  /** Media type by file name. */
  readonly files: Readonly<Record<string, string>>
}

/** The files of the page: `index` references the others by names that change with their content. */
export interface Assets {
  readonly index: Asset
  file(name: string): Asset | undefined
}

/** Returns the folder of the built page. Searches upwards, because this file is in a different folder once it is built. */
function builtFolder(): string | undefined {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, 'dist', 'console')
    if (existsSync(join(found, 'manifest.json'))) return found
  }
  return undefined
}

/** Reads the built page into memory. Throws CONSOLE_NOT_BUILT. */
export async function loadAssets(): Promise<Assets> {
  const folder = builtFolder()
  if (folder === undefined) throw consoleErrors.CONSOLE_NOT_BUILT()
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest
  const files = new Map(
    await Promise.all(
      Object.entries(manifest.files).map(async ([name, type]) => {
        const [identity, compressed, br] = await Promise.all(['', '.gz', '.br'].map((suffix) => readFile(join(folder, `${name}${suffix}`))))
        return [name, assetOf(type, identity as Buffer, compressed as Buffer, br as Buffer)] as const
      }),
    ),
  )
  return { index: await makeAsset('text/html; charset=utf-8', Buffer.from(indexPage(manifest))), file: (name) => files.get(name) }
}

const gzipped = promisify(gzip)
const brotlied = promisify(brotliCompress)

/** Compresses a file that was not part of the build. */
export async function makeAsset(type: string, bytes: Buffer): Promise<Asset> {
  const [compressed, br] = await Promise.all([gzipped(bytes), brotlied(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })])
  return assetOf(type, bytes, compressed, br)
}

function assetOf(type: string, identity: Buffer, compressed: Buffer, br: Buffer): Asset {
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`
  return { type, etag, forms: { identity, gzip: compressed, br } }
}

const base = '/console'

/** Contains no data about the app: the script fetches that with the user's credentials. */
function indexPage({ script, style }: Manifest): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Console</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/assets/${style}">
<script type="module" src="${base}/assets/${script}"></script>
</head>
<body><div id="app"><noscript>The console needs JavaScript.</noscript></div></body>
</html>
`
}
