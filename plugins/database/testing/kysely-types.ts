import type { ColumnDataType } from 'kysely'

/** Names of the types of Kysely, without lengths. */
// biome-ignore format: a list of names
export const kyselyTypes = [
  'varchar', 'char', 'text', 'integer', 'int2', 'int4', 'int8', 'smallint', 'bigint', 'boolean', 'real', 'double precision', 'float4',
  'float8', 'decimal', 'numeric', 'binary', 'bytea', 'date', 'datetime', 'time', 'timetz', 'timestamp', 'timestamptz', 'serial',
  'bigserial', 'uuid', 'json', 'jsonb', 'blob', 'varbinary', 'int4range', 'int4multirange', 'int8range', 'int8multirange', 'numrange',
  'nummultirange', 'tsrange', 'tsmultirange', 'tstzrange', 'tstzmultirange', 'daterange', 'datemultirange',
] as const satisfies readonly ColumnDataType[]

type Bare<Type> = Type extends `${string}(${string}` ? never : Type

type Missing = Exclude<Bare<ColumnDataType>, (typeof kyselyTypes)[number]>

/** Does not compile while a type of Kysely is missing. */
export const areComplete: [Missing] extends [never] ? true : Missing = true
