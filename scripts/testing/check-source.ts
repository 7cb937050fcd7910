import ts from 'typescript'

/** The minimum of TypeScript's library and of the plugin that typed clients need, so that checking stays fast. */
const surroundings = `
interface Array<T> { readonly length: number; [index: number]: T }
interface ReadonlyArray<T> { readonly length: number; readonly [index: number]: T }
interface Boolean {} interface Function {} interface CallableFunction {} interface NewableFunction {} interface IArguments {}
interface Number {} interface Object {} interface RegExp {} interface String {} interface Symbol {} interface Promise<T> { then: T }
interface Uint8Array { readonly bytes: number }
type Readonly<T> = { readonly [K in keyof T]: T[K] }
type Record<K extends keyof any, T> = { [P in K]: T }
declare module 'zin/plugins/microservices' {
  export interface ServiceCalls { callService: unknown }
  export interface ServiceSuccess<Status extends number, Data> { readonly ok: true; readonly status: Status; readonly data: Data }
  export interface ServiceFailure<Status extends number, Data> { readonly ok: false; readonly status: Status; readonly data: Data }
  export type ServiceOperation<Request extends object, Response> = (request: Request) => Promise<Response>
  export function serviceClient<Client extends object>(services: ServiceCalls, service: string, operations: { readonly [Name in keyof Client]: { method: string; path: string; body?: string } }): Client
}
`

/** The compiler's messages about a source; `more` is code in the same file that uses it. */
export function problemsOf(source: string, more = ''): readonly string[] {
  const files: Readonly<Record<string, string>> = { '/client.ts': source + more, '/surroundings.d.ts': surroundings }
  const options: ts.CompilerOptions = { noLib: true, strict: true, types: [], module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
  const host: ts.CompilerHost = {
    fileExists: (name) => name in files,
    readFile: (name) => files[name],
    getSourceFile: (name, version) => (files[name] === undefined ? undefined : ts.createSourceFile(name, files[name], version, true)),
    getDefaultLibFileName: () => '/lib.d.ts',
    writeFile: () => undefined,
    getCurrentDirectory: () => '/',
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
  }
  return ts
    .getPreEmitDiagnostics(ts.createProgram(Object.keys(files), options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

/** The statements of a source by kind, and everything that runs in it: calls and templates. */
export function shapeOf(source: string): {
  readonly statements: readonly string[]
  readonly runs: readonly string[]
  readonly faults: number
} {
  const file = ts.createSourceFile('client.ts', source, ts.ScriptTarget.ES2022, true)
  const runs: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) runs.push(node.expression.getText())
    if (ts.isNewExpression(node) || ts.isTaggedTemplateExpression(node) || ts.isComputedPropertyName(node) || ts.isImportTypeNode(node))
      runs.push(node.getText())
    node.forEachChild(visit)
  }
  visit(file)
  const { parseDiagnostics } = file as ts.SourceFile & { readonly parseDiagnostics: readonly unknown[] }
  return { statements: file.statements.map(({ kind }) => ts.SyntaxKind[kind]), runs, faults: parseDiagnostics.length }
}
