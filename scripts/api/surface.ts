import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

/** What a name stands for: declarations in one of our files, or an export of a package. */
interface Origin {
  readonly name: string
  readonly file?: string
  readonly package?: string
}

type Names = ReadonlyMap<string, Origin>

/**
 * The surface of each entry point, by its name, from its file of declarations: what it exports, by name, then the types of ours that
 * this refers to without their being exported, and what it declares for other modules. What an earlier entry point has stands there
 * alone. Comments are left out.
 */
export function surfacesOf(entries: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  const files = new Declarations()
  const owners = new Map<string, string>()
  return new Map(entries.map(([name, file]) => [name, surfaceOf(name, file, files, owners)]))
}

function surfaceOf(entry: string, file: string, files: Declarations, owners: Map<string, string>): string {
  const exported = [...files.exportsOf(file)].sort(([a], [b]) => (a < b ? -1 : 1))
  const own = exported.filter(([, origin]) => !owners.has(keyOf(origin)))
  const texts = exported.flatMap(([name, origin]) => {
    const owner = owners.get(keyOf(origin))
    return owner === undefined ? files.textsOf(origin, name) : [`export { ${name} } from '${owner}'`]
  })
  for (const [, origin] of own) owners.set(keyOf(origin), entry)
  const hidden: Origin[] = []
  // Grows while it is read.
  const queue = own.map(([, origin]) => origin)
  for (const origin of queue) {
    for (const other of files.referencesOf(origin).filter((reference) => !owners.has(keyOf(reference)))) {
      owners.set(keyOf(other), entry)
      hidden.push(other)
      queue.push(other)
    }
  }
  const others = hidden.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).flatMap((origin) => files.textsOf(origin, origin.name))
  const merged = [...new Set(queue.flatMap((origin) => origin.file ?? []))].flatMap((path) => files.mergedInto(path)).sort()
  const sections = [
    ['', texts],
    ['// Not exported, but part of the above.\n', others],
    ['// Declared for other modules.\n', merged],
  ] as const
  return sections.flatMap(([title, lines]) => (lines.length === 0 ? [] : [`${title}${lines.join('\n')}\n`])).join('\n')
}

const keyOf = ({ name, file, package: from }: Origin): string => `${name} ${file ?? from}`

const printer = ts.createPrinter({ removeComments: true })

/** Reads files of declarations as `tsc` writes them, by their syntax alone. */
class Declarations {
  readonly #files = new Map<string, ts.SourceFile>()
  readonly #exports = new Map<string, Map<string, Origin>>()

  /** What a file exports, each name with where it is declared in the end. */
  exportsOf(file: string): Names {
    const known = this.#exports.get(file)
    if (known !== undefined) return known
    const names = new Map<string, Origin>()
    this.#exports.set(file, names)
    for (const statement of this.#parse(file).statements) {
      if (ts.isExportDeclaration(statement)) this.#addExports(file, statement, names)
      else if (isExported(statement)) for (const name of declaredNames(statement)) names.set(name, { file, name })
    }
    return names
  }

  /** The declarations of a name as text: several for overloads, and one line for what a package exports. */
  textsOf({ name, file, package: from }: Origin, as: string): readonly string[] {
    if (file === undefined) return [`export { ${name === as ? name : `${name} as ${as}`} } from '${from}'`]
    const source = this.#parse(file)
    const texts = this.#statementsOf(file, name).map((node) => plain(printer.printNode(ts.EmitHint.Unspecified, node, source)))
    return name === as ? texts : [`// ${as} is ${name}.`, ...texts]
  }

  /** The names of ours that the declarations of a name refer to. */
  referencesOf({ name, file }: Origin): readonly Origin[] {
    if (file === undefined) return []
    const found: Origin[] = []
    const visit = (node: ts.Node): void => {
      const origin = this.#referenceOf(file, node)
      if (origin?.file !== undefined) found.push(origin)
      ts.forEachChild(node, visit)
    }
    for (const statement of this.#statementsOf(file, name)) visit(statement)
    return found
  }

  /** The `declare module` blocks of a file. */
  mergedInto(file: string): readonly string[] {
    const source = this.#parse(file)
    const blocks = source.statements.filter((node) => ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name))
    return blocks.map((node) => plain(printer.printNode(ts.EmitHint.Unspecified, node, source)))
  }

  #parse(file: string): ts.SourceFile {
    const known = this.#files.get(file)
    if (known !== undefined) return known
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
    this.#files.set(file, source)
    return source
  }

  #addExports(file: string, { moduleSpecifier, exportClause }: ts.ExportDeclaration, names: Map<string, Origin>): void {
    const from = moduleSpecifier === undefined ? undefined : (moduleSpecifier as ts.StringLiteral).text
    if (exportClause === undefined) {
      const target = from === undefined ? undefined : resolve(file, from)
      if (target !== undefined) for (const [name, origin] of this.exportsOf(target)) names.set(name, origin)
      return
    }
    if (!ts.isNamedExports(exportClause)) throw new Error(`${file}: export * as is not understood`)
    for (const { name, propertyName } of exportClause.elements) {
      const local = (propertyName ?? name).text
      const origin = from === undefined ? this.#lookUp(file, local) : this.#exportOf(file, from, local)
      if (origin !== undefined) names.set(name.text, origin)
    }
  }

  /** What a module exports under a name, seen from a file. */
  #exportOf(file: string, from: string, name: string): Origin {
    const target = resolve(file, from)
    if (target === undefined) return { name, package: from }
    return this.exportsOf(target).get(name) ?? { name, file: target }
  }

  /** What a name means inside of a file: declared there, or imported. */
  #lookUp(file: string, name: string): Origin | undefined {
    if (this.#statementsOf(file, name).length > 0) return { name, file }
    for (const statement of this.#parse(file).statements) {
      if (!ts.isImportDeclaration(statement)) continue
      const from = (statement.moduleSpecifier as ts.StringLiteral).text
      const bindings = statement.importClause?.namedBindings
      const found = bindings && ts.isNamedImports(bindings) ? bindings.elements.find((element) => element.name.text === name) : undefined
      if (found !== undefined) return this.#exportOf(file, from, (found.propertyName ?? found.name).text)
    }
    return undefined
  }

  #statementsOf(file: string, name: string): readonly ts.Statement[] {
    return this.#parse(file).statements.filter((statement) => declaredNames(statement).includes(name))
  }

  #referenceOf(file: string, node: ts.Node): Origin | undefined {
    if (ts.isImportTypeNode(node)) {
      const from = ((node.argument as ts.LiteralTypeNode).literal as ts.StringLiteral).text
      return node.qualifier === undefined ? undefined : this.#exportOf(file, from, leftmost(node.qualifier))
    }
    if (ts.isTypeReferenceNode(node)) return this.#lookUp(file, leftmost(node.typeName))
    if (ts.isTypeQueryNode(node)) return this.#lookUp(file, leftmost(node.exprName))
    if (ts.isExpressionWithTypeArguments(node) && ts.isIdentifier(node.expression)) return this.#lookUp(file, node.expression.text)
    return undefined
  }
}

function leftmost(name: ts.EntityName): string {
  return ts.isIdentifier(name) ? name.text : leftmost(name.left)
}

function isExported(statement: ts.Statement): boolean {
  return ts.canHaveModifiers(statement) && (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
  const { name } = statement as { readonly name?: ts.Node }
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : []
}

/** Without the words that every line would begin with. */
function plain(text: string): string {
  return text.replace(/^export /, '').replace(/^declare (?!module)/, '')
}

/** The file of a relative import of declarations; undefined for a package, whose other entry points have files of their own. */
function resolve(file: string, from: string): string | undefined {
  if (!from.startsWith('.')) return undefined
  const path = join(dirname(file), from.replace(/\.js$/, '.d.ts'))
  if (!existsSync(path)) throw new Error(`${file} imports ${from}, which has no declarations`)
  return path
}
