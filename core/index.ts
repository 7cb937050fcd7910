/** The API for apps and plugins. Clients sign with `zin/signer`; verify signatures with `zin/signing`; write tests with `zin/testing`. */

// The app: its configuration, and starting it from code.

export type { EnvReader } from './config/env.js'
export { env } from './config/env.js'
export type { App, AppOptions } from './host/create-app.js'
export { createApp } from './host/create-app.js'
export type { ZinConfig } from './host/define-config.js'
export { defineConfig } from './host/define-config.js'
export type { ProvidedService } from './host/host-options.js'
export type { ShutdownReport, StopRow } from './host/shutdown.js'

// Plugins.

export { checkedValue } from './host/checked-value.js'
export type { PluginContext, PluginHooks, PluginMethods } from './host/context.js'
export { importPackage } from './host/import-package.js'
export type { Migration } from './host/migration.js'
export type { PackageUse, PackageUses } from './host/packages.js'
export type { Plugin, PluginFactory, PluginSpec } from './host/plugin.js'
export { definePlugin, isPlugin, registerOnly } from './host/plugin.js'
export type { HostState, PluginPhase, PluginState } from './host/states.js'
export type { HostView, PluginReport, Role } from './host/view.js'
export type { Address } from './util/address.js'
export type { Disposer } from './util/disposer.js'

// Options and settings.

export { type Static, Type } from 'typebox'
export { codePath } from './config/build.js'
export { parseEnvFile } from './config/env-file.js'
export type { OptionsDeclaration, OptionsOf } from './config/options.js'
export { defineOptions, functionOption } from './config/options.js'
export { readSettings } from './config/read-settings.js'
export type { SettingReport, SettingSpec, SettingSpecs, SettingValues } from './config/settings.js'
export { defineSettings } from './config/settings.js'
export { enableTypescript, locateTsx, type Tsx } from './config/tsx.js'
export { updateEnvFile } from './config/update-env-file.js'

// Services.

export type { OptionalServiceRef, Resolved, ServiceRef, Uses } from './services/ref.js'
export { defineService, later, optional } from './services/ref.js'

// Hooks.

export type {
  AttentionFact,
  AttentionReport,
  BackupPart,
  CommandCredential,
  CommandRequest,
  CoreHooks,
  EndedRequest,
  ErrorBody,
  FailedRequest,
  HookMap,
  HookName,
  MetricExemplar,
  MetricHistogram,
  MetricSample,
  MetricValue,
  MutedListener,
  ReadinessReport,
} from './hooks/catalogue.js'
export type {
  Collect,
  CollectSlot,
  Denial,
  DenialStatus,
  First,
  FirstSlot,
  Gate,
  GateSlot,
  HookKind,
  HookSpec,
  HookSpecs,
  ListenerFailure,
  ListenerOf,
  ListenerOptions,
  Notify,
  NotifySlot,
  Settle,
  SettleSlot,
  SlotOf,
  Verdict,
  Waterfall,
  WaterfallSlot,
} from './hooks/kinds.js'
export { deny } from './hooks/kinds.js'
export type { ActionActor, ActionEnd, ActionFacts, Manage, ManagementAction, NewManagementAction } from './hooks/manage.js'
export type { HookReport, ListenerReport } from './hooks/report.js'

// Moving data to other stores.

export { dataErrors } from './data/errors.js'
export { isUnusedData } from './data/marker.js'
export type { DataPart, DataRecord, DataStore } from './data/part.js'

// What `zin info` and `zin doctor` say about stores.

export type { Finding, StoreInfo } from './util/stores.js'
export { checkClock } from './util/stores.js'

// Routes and requests.

export type { Access } from './http/access.js'
export { accessHolds, accessOf, noteAccess } from './http/access.js'
export { attachUser } from './http/attach-user.js'
export { authBudget, storeUnavailable, withinAuthBudget } from './http/auth-budget.js'
export type { BodyDecoder } from './http/body.js'
export { captureBody } from './http/body.js'
export type { BodyPieces } from './http/body-pieces.js'
export type { ClientLimitOptions } from './http/client-limit.js'
export { ClientLimit } from './http/client-limit.js'
export { onDisconnect, preparedHeaders, requestIdOf } from './http/context.js'
export type { EventStream, EventStreamLimits, StreamedEvent } from './http/event-stream.js'
export { EventStreams } from './http/event-stream.js'
export type { FormReader, IncomingForm, ReadForm } from './http/form-reader.js'
export { announcesBody } from './http/headers.js'
export { HostCheck, isOwnOrigin } from './http/host-check.js'
export { jsonText } from './http/json.js'
export { reportedPath } from './http/matched-route.js'
export type {
  MiddlewareContext,
  MiddlewareSpec,
  MiddlewareState,
  RouteMiddleware,
  SecurityRequirement,
  SecurityScheme,
  StateOf,
  UseEntry,
  UsePhase,
} from './http/middleware.js'
export { defineMiddleware } from './http/middleware.js'
export type { Responder, Responders } from './http/refusal-body.js'
export { refuse, unauthorizedBody } from './http/refusal-body.js'
export type { RequestContext } from './http/request-context.js'
export { requestContext } from './http/request-context.js'
export type {
  BodyType,
  FormOf,
  HttpMethod,
  InvalidInput,
  JsonSchema,
  Route,
  RouteContext,
  RouteFields,
  RouteInfo,
  RouteInput,
  RouteSpec,
} from './http/route.js'
export { defineRoute } from './http/route.js'
export type { RouteFieldCheck } from './http/route-fields.js'
export type { Described, Sendable } from './http/route-types.js'
export { jsonBody } from './http/send-response.js'
export type { ReadMessage, RouteUpgrade, UpgradeConnection } from './http/upgrade.js'
export type { FileField, FileFields, FilesOf, IncomingFile, StreamFile, Upload } from './http/upload.js'
export { TemporaryFile } from './http/upload.js'
export type { SchemaFault } from './util/schema-faults.js'
export { jsonSchemaOf, type StandardSchema } from './util/standard-schema.js'

// Commands of the CLI.

export type { AppClient, Command, CommandContext, CommandSpec, OptionSpec, OptionSpecs, Printer } from './host/command.js'
export { defineCommand } from './host/command.js'

// Errors and the log.

export type { ErrorFactory, ErrorRow, ErrorTable, ZinErrorOptions } from './errors.js'
export { defineErrors, joinErrors, messageOf, ZinError } from './errors.js'
export type { LogFields, Logger, LogLevel, LogMethod } from './log/types.js'

// Time, names and processes.

export { appSlug } from './util/app-slug.js'
export type { Clock } from './util/clock.js'
export { systemClock } from './util/clock.js'
export { DeadlineError, WaitBudget, withDeadline } from './util/deadline.js'
export { freeBytes } from './util/free-bytes.js'
export { guardMessages } from './util/guard-messages.js'
export { type MarkState, markProcess, type ProcessMark, parseProcessMark, processMarkState } from './util/process-mark.js'
export { suggest } from './util/suggest.js'
export { countText, durationText } from './util/words.js'

// Requests to untrusted URLs.

export { type AddressKind, addressKind, clientNetwork } from './egress/address.js'
export { type EgressOptions, type EgressParts, egressFetch } from './egress/egress.js'
export type { Resolver } from './egress/resolve.js'
export { checkEgressUrl, type EgressRules, type EgressScheme } from './egress/rules.js'
export type { EgressResponse } from './egress/send.js'
