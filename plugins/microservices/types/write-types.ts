import { join, resolve } from 'node:path'
import type { AppClient, Printer } from 'zin'
import { systemResolver } from '../calls/checked-lookup.js'
import type { ServiceResponse, ServiceView } from '../contract.js'
import { microserviceErrors } from '../errors.js'
import { slugPattern } from '../schema.js'
import { writeClient } from './client-file.js'
import { clientText, webClientText } from './client-text.js'
import { fetchDocument } from './fetch-document.js'
import type { Json } from './json.js'
import { documentFile, documentOf } from './read-document.js'

const slug = new RegExp(slugPattern)
const documentPath = '/openapi.json'

/** Fetches a URL with the credential of the service. */
export type FetchAsCaller = (service: string, url: URL) => Promise<unknown>

interface Source {
  readonly from: string | undefined
  readonly cwd: string
  readonly app: AppClient
  readonly fetch: FetchAsCaller
}

export interface WriteTypesInput extends Source {
  /** Name of the service; undefined: all running services. */
  readonly name: string | undefined
  /** File (or folder, without a name), relative to `cwd`; undefined: standard output. */
  readonly out: string | undefined
  /** Only compares; writes nothing. */
  readonly check: boolean
  readonly print: Printer
}

/** Writes typed clients. Returns the number of files that are out of date. */
export async function writeTypes({ check, name, out, print, ...source }: WriteTypesInput): Promise<number> {
  if (name === undefined && (out === undefined || source.from !== undefined))
    throw microserviceErrors.SERVICE_TYPES_USAGE('without a name, --out must be a folder, and --from cannot be used')
  if (check && out === undefined) throw microserviceErrors.SERVICE_TYPES_USAGE('--check requires --out')
  const names = name === undefined ? await runningServices(source.app) : [name]
  // They become names of files, whoever responded on the address of the app.
  const wrong = names.find((one) => !slug.test(one) || one.length > 50)
  if (wrong !== undefined) throw microserviceErrors.SERVICE_NOT_REGISTERED(wrong)
  let outdated = 0
  for (const one of names) {
    const text = clientText(one, await documentFor(one, source))
    if (out === undefined) print.line(text.trimEnd(), { verbatim: true })
    else outdated += await write(resolve(source.cwd, name === undefined ? join(out, `${one}.ts`) : out), text, check, print)
  }
  return outdated
}

async function runningServices(app: AppClient): Promise<readonly string[]> {
  const { services } = await app.request<{ services: readonly ServiceView[] }>({ method: 'GET', path: '/api/services' })
  return services.filter(({ state }) => state === 'running').map(({ name }) => name)
}

async function documentFor(service: string, { app, cwd, fetch, from }: Source): Promise<Json> {
  if (from === undefined) {
    const path = `/api/services/${encodeURIComponent(service)}/call`
    const response = await app.request<ServiceResponse>({ method: 'POST', path, body: { path: documentPath }, waitingFor: service })
    if (response.status !== 200)
      throw microserviceErrors.SERVICE_DOCUMENT_INVALID(`${documentPath} of ${service}`, `it responded ${response.status}`)
    return documentOf(response.data, `${documentPath} of ${service}`)
  }
  if (!isUrl(from)) return documentFrom(resolve(cwd, from))
  const url = urlOf(from)
  return documentOf(await fetch(service, url), url.origin + url.pathname)
}

const isUrl = (from: string): boolean => /^https?:\/\//i.test(from)

function urlOf(from: string): URL {
  if (!URL.canParse(from)) throw microserviceErrors.SERVICE_DOCUMENT_INVALID('--from', 'the URL is malformed')
  return new URL(from)
}

const documentFrom = async (file: string): Promise<Json> => documentOf(await documentFile(file), file)

export interface WriteWebClientInput {
  readonly name: string
  /** File or URL of the document. */
  readonly from: string
  /** Beginnings of paths, separated by commas; undefined: all. */
  readonly paths: string | undefined
  /** File, relative to `cwd`; undefined: standard output. */
  readonly out: string | undefined
  /** Only compares; writes nothing. */
  readonly check: boolean
  readonly cwd: string
  readonly print: Printer
}

/** Writes a typed client for a front end. Returns 1 if the file is out of date, otherwise 0. */
export async function writeWebClient({ check, cwd, from, name, out, paths = '', print }: WriteWebClientInput): Promise<number> {
  if (check && out === undefined) throw microserviceErrors.SERVICE_TYPES_USAGE('--check requires --out')
  if (!slug.test(name) || name.length > 50)
    throw microserviceErrors.SERVICE_TYPES_USAGE('the name must be lower-case letters, digits and single hyphens, at most 50')
  const beginnings = paths.split(',').filter((path) => path !== '')
  const wrong = beginnings.find((path) => !/^\/.*[^/]$/.test(path))
  if (wrong !== undefined) throw microserviceErrors.SERVICE_TYPES_USAGE(`--paths: "${wrong}" must begin with / and not end with it`)
  const text = webClientText(name, await publicDocument(from, cwd), beginnings)
  if (out !== undefined) return await write(resolve(cwd, out), text, check, print)
  print.line(text.trimEnd(), { verbatim: true })
  return 0
}

/** Reads a document from a file or URL, without any credential. */
async function publicDocument(from: string, cwd: string): Promise<Json> {
  if (!isUrl(from)) return documentFrom(resolve(cwd, from))
  return documentOf(await fetchDocument('the app', urlOf(from), { resolver: systemResolver }), urlOf(from).origin + urlOf(from).pathname)
}

/** Returns 1 if the file is out of date, otherwise 0. */
async function write(file: string, text: string, check: boolean, print: Printer): Promise<number> {
  const result = await writeClient(file, text, check)
  if (result === 'outdated') print.error(`${file} is out of date; run the command without --check`)
  else print.line(`${file} ${result === 'written' ? 'written' : 'is up to date'}`)
  return result === 'outdated' ? 1 : 0
}
