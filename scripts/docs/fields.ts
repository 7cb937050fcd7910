import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import type { ReadmeTable } from '../../core/testing/readme.js'

const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true })

/** A table of the fields of an interface, or of the branches of a type, with their names, types and docstrings. */
export function fieldsTable(path: string, name: string): ReadmeTable {
  const source = parse(path)
  const node = source.statements.find((statement) => namedAs(statement, name))
  if (node === undefined || !(ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)))
    throw new Error(`${path} declares no type ${name}`)
  const members = ts.isInterfaceDeclaration(node) ? node.members : literalsOf(node.type, source).flatMap(({ members: own }) => own)
  const types = new Map((node.typeParameters ?? []).map((parameter) => [parameter.name.text, parameter.constraint]))
  const rows = new Map<string, { readonly types: Set<string>; text: string }>()
  for (const member of members) {
    const field = fieldName(member, source)
    const row = rows.get(field) ?? { types: new Set<string>(), text: '' }
    const type = typeText(member, types, source)
    row.types.add(member.questionToken === undefined ? type : type.replace(/ \| undefined$/, ''))
    row.text ||= docText(member)
    rows.set(field, row)
  }
  const silent = [...rows].filter(([, { text }]) => text === '').map(([field]) => field)
  if (silent.length > 0) throw new Error(`${path}: a docstring is missing for ${silent.map((field) => `${name}.${field}`).join(', ')}`)
  return {
    head: ['field', 'type', 'meaning'],
    rows: [...rows].map(([field, row]) => [`\`${field}\``, `\`${[...row.types].join(' | ')}\``, row.text]),
  }
}

/** A table of the functions and constants that a module exports, with the first sentence of their docstrings. */
export function valuesTable(path: string): ReadmeTable {
  const rows = parse(path).statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.isTypeOnly) return []
    const { exportClause, moduleSpecifier } = statement
    if (!exportClause || !ts.isNamedExports(exportClause) || !moduleSpecifier || !ts.isStringLiteral(moduleSpecifier)) return []
    const file = join(dirname(path), moduleSpecifier.text.replace(/\.js$/, '.ts'))
    if (!existsSync(file)) return []
    const names = exportClause.elements.filter((element) => !element.isTypeOnly).map((element) => element.name.text)
    return names.flatMap((name) => {
      const declared = parse(file).statements.find((candidate) => !isType(candidate) && namedAs(candidate, name))
      return declared === undefined
        ? []
        : [
            [
              `\`${name}\``,
              docText(declared)
                .split(/(?<=[.:]) /)[0]
                ?.replace(/:$/, '.') ?? '',
            ],
          ]
    })
  })
  return { head: ['name', 'what it does'], rows: rows.sort(([a = ''], [b = '']) => a.localeCompare(b)) }
}

const builtIn: ReadonlySet<string> = new Set(['Record', 'Partial', 'Promise', 'MaybePromise'])

function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
}

const isType = (node: ts.Node): boolean => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)

function namedAs(statement: ts.Statement, wanted: string): boolean {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.some(({ name }) => name.getText() === wanted)
  const { name } = statement as { readonly name?: ts.Node }
  return name !== undefined && ts.isIdentifier(name) && name.text === wanted
}

/** The object types that a type consists of, including named ones in the same file. */
function literalsOf(type: ts.TypeNode, source: ts.SourceFile): readonly { readonly members: readonly ts.TypeElement[] }[] {
  if (ts.isTypeLiteralNode(type)) return [type]
  if (ts.isParenthesizedTypeNode(type)) return literalsOf(type.type, source)
  if (ts.isUnionTypeNode(type) || ts.isIntersectionTypeNode(type)) return type.types.flatMap((part) => literalsOf(part, source))
  if (!ts.isTypeReferenceNode(type)) return []
  const { typeName } = type
  const found = source.statements.find((statement) => namedAs(statement, typeName.getText()))
  return found !== undefined && ts.isInterfaceDeclaration(found) ? [found] : []
}

/** `author?`, `provide(ref, service)`. */
function fieldName(member: ts.TypeElement, source: ts.SourceFile): string {
  const name = `${member.name?.getText(source) ?? ''}${member.questionToken === undefined ? '' : '?'}`
  if (!ts.isMethodSignature(member)) return name
  return `${name}(${member.parameters.map((parameter) => parameter.name.getText(source)).join(', ')})`
}

type Parameters = ReadonlyMap<string, ts.TypeNode | undefined>

function typeText(member: ts.TypeElement, outer: Parameters, source: ts.SourceFile): string {
  if (!ts.isMethodSignature(member)) return printed((member as ts.PropertySignature).type, outer, source)
  const types = new Map([...outer, ...(member.typeParameters ?? []).map(({ name, constraint }) => [name.text, constraint] as const)])
  const parameters = member.parameters.map(
    ({ name, questionToken, type }) => `${name.getText(source)}${questionToken ? '?' : ''}: ${printed(type, types, source)}`,
  )
  return `(${parameters.join(', ')}) => ${printed(member.type, types, source)}`
}

/** A type for readers: type parameters as their constraints, references without type parameters, and no `readonly`. */
function printed(type: ts.TypeNode | undefined, parameters: Parameters, source: ts.SourceFile): string {
  if (type === undefined) return 'unknown'
  const isGeneric = (node: ts.Node): boolean => parameters.has(node.getText(source)) || (ts.forEachChild(node, isGeneric) ?? false)
  const { transformed } = ts.transform(type, [
    (context) => {
      const visit = (node: ts.Node): ts.Node => {
        if (node.kind === ts.SyntaxKind.ReadonlyKeyword) return undefined as never
        if (ts.isTypeOperatorNode(node) && node.operator === ts.SyntaxKind.ReadonlyKeyword) return visit(node.type)
        if (ts.isTypeReferenceNode(node)) return visitReference(node)
        return ts.visitEachChild(node, visit, context)
      }
      const visitReference = (node: ts.TypeReferenceNode): ts.Node => {
        const name = node.typeName.getText(source)
        const [only] = node.typeArguments ?? []
        if (parameters.get(name) !== undefined) return visit(parameters.get(name) as ts.Node)
        if (only !== undefined && ['Readonly', 'NoInfer'].includes(name)) return visit(only)
        if (!builtIn.has(name) && node.typeArguments?.some(isGeneric)) return ts.factory.createTypeReferenceNode(node.typeName)
        return ts.visitEachChild(node, visit, context)
      }
      return (root) => visit(root) as ts.TypeNode
    },
  ])
  const text = printer.printNode(ts.EmitHint.Unspecified, transformed[0] as ts.Node, source)
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/; \}/g, ' }')
    .replaceAll('MaybePromise<void>', 'void | Promise<void>')
    .replaceAll(/\breadonly /g, '')
    .replaceAll('"', "'")
}

/** The docstring in one line, without its tags. */
function docText(node: ts.Node): string {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const text = ts.getTextOfJSDocComment(comments.at(-1)?.comment) ?? ''
  return text
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .replaceAll(/\s*\n\s*/g, ' ')
    .trim()
}
