/** The exports of `sheaf/http`. */
export { type ConnectHttpOptions, connectHttp } from './client.js'
export { type Databases, type DatabasesOptions, databases } from './databases.js'
export type { Asked, AuthOptions, Authorize, Principal } from './gate.js'
export type { Served } from './handling.js'
export type { JwtOptions } from './jwt.js'
export type { Limits } from './limits.js'
export type { HandlerOptions, RequestRecord, ServeOptions } from './options.js'
export { type HttpHandler, type HttpServer, handler, serve } from './server.js'
