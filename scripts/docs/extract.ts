import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** Code that a document or a docstring shows. */
export interface Snippet {
  /** Path of its file, from the root of the repository. */
  readonly path: string
  /** Line of its first line, from 1. */
  readonly line: number
  readonly code: string
}

/** The fences of a document with complete code: `ts` and `js`, except those marked `ts fragment`. */
export function fencesOf(path: string, markdown = readFileSync(path, 'utf8')): readonly Snippet[] {
  return [...markdown.matchAll(/^```(?:ts|js)[ \t]*\n([\s\S]*?)^```/gm)].map(({ index, 1: code = '' }) => ({
    path,
    line: lineAt(markdown, index) + 1,
    code,
  }))
}

/** The `@example`s of a source file. Words after `@example` are a title. */
export function examplesOf(path: string, source = readFileSync(path, 'utf8')): readonly Snippet[] {
  return [...source.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap(({ 0: comment, index }) =>
    [...comment.matchAll(/^ *\* @example.*\n([\s\S]*?)(?=^ *\* @|^ *\*\/)/gm)].map(({ index: start, 1: lines = '' }) => ({
      path,
      line: lineAt(source, index + start) + 1,
      code: lines.replaceAll(/^ *\* ?/gm, ''),
    })),
  )
}

/** The names that a snippet uses without declaring or importing them; includes names of properties. */
export function freeNames({ code }: Snippet): ReadonlySet<string> {
  const source = ts.createSourceFile('snippet.ts', code, ts.ScriptTarget.Latest)
  const names = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) names.add(node.text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  for (const name of source.statements.flatMap(declaredNames)) names.delete(name)
  return names
}

/** The names that a module exports, without those of `export *`. */
export function exportedNames(path: string): readonly string[] {
  const { statements } = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  return statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return isExported(statement) ? declaredNames(statement) : []
    const { exportClause } = statement
    return exportClause && ts.isNamedExports(exportClause) ? exportClause.elements.map(({ name }) => name.text) : []
  })
}

function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.flatMap(({ name }) => namesOf(name))
  if (ts.isImportDeclaration(statement)) {
    const { name, namedBindings } = statement.importClause ?? {}
    const named = namedBindings && ts.isNamedImports(namedBindings) ? namedBindings.elements.map((element) => element.name.text) : []
    return name === undefined ? named : [name.text, ...named]
  }
  const { name } = statement as { readonly name?: ts.Node }
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : []
}

function namesOf(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text]
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? namesOf(element.name) : []))
}

function isExported(statement: ts.Statement): boolean {
  return ts.canHaveModifiers(statement) && (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length
