/** The servers with which the stores are tested, and how a store is opened on each of them. */
import { join, resolve } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { BlobServiceClient } from '@azure/storage-blob'
import { Storage } from '@google-cloud/storage'
import { openAzureStore } from '../../adapters/azure/public.js'
import { openGcsStore } from '../../adapters/gcs/public.js'
import { openS3Store } from '../../adapters/s3/public.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { cephProgram } from './ceph.js'
import { findServer } from './find-server.mjs'
import type { Program } from './server.js'

export interface Provider {
  readonly name: string
  /** Null if the server is not installed. */
  readonly program: Program | null
  /** The length of the longest name in a key. Default: as for every store. */
  readonly longestName?: number
  /** Whether answered writes survive a kill of the server. */
  readonly isDurable: boolean
  /** Create the bucket `bucketName`. `url`: where the server is. */
  readonly createBucket: (url: string) => Promise<void>
  /** The path of a root in this bucket. */
  readonly path: (prefix: string) => string
  /** The options `storage` of `connect` for this path. */
  readonly storage: (url: string) => { readonly config: object }
  /** The variables of the environment that configure the client. Null if the server cannot be configured so. */
  readonly environment: ((url: string) => Readonly<Record<string, string>>) | null
  readonly open: (url: string, options: { prefix: string; bucket?: string }) => Promise<BlobStore>
  /** Open a store with a client that repeats requests by itself, as clients do by default. */
  readonly openWithClient: (url: string, prefix: string) => Promise<BlobStore>
  /** The options of a store with wrong credentials. Null if the server accepts every caller. */
  readonly intruder: ((url: string) => object) | null
}

const packages = resolve('test/stores/node_modules')

export const bucketName = 'sheaf-test'

const minio = findServer('minio')
const s3Config = (url: string, secretAccessKey = 'secret-of-tests') => ({
  endpoint: url,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId: 'tests', secretAccessKey },
})

/** Servers with the interface of S3. */
const s3Provider: Omit<Provider, 'name' | 'program'> = {
  isDurable: true,
  createBucket: async url => {
    try {
      await new S3Client(s3Config(url)).send(new CreateBucketCommand({ Bucket: bucketName }))
    } catch (error) {
      // The client repeats a request whose answer is an error, although the server has executed the request.
      if ((error as Error).name !== 'BucketAlreadyOwnedByYou') throw error
    }
  },
  path: prefix => `s3://${bucketName}/${prefix}`,
  storage: url => ({ config: s3Config(url) }),
  environment: url => ({
    AWS_ENDPOINT_URL: url,
    AWS_ACCESS_KEY_ID: 'tests',
    AWS_SECRET_ACCESS_KEY: 'secret-of-tests',
  }),
  open: (url, { prefix, bucket = bucketName }) => openS3Store({ bucket, prefix, config: s3Config(url) }),
  openWithClient: (url, prefix) =>
    openS3Store({
      bucket: bucketName,
      prefix,
      client: new S3Client({ ...s3Config(url), requestChecksumCalculation: 'WHEN_REQUIRED' }),
    }),
  intruder: url => ({ config: s3Config(url, 'another-secret') }),
}

export const minioProvider: Provider = {
  ...s3Provider,
  name: 'MinIO',
  program:
    minio === null
      ? null
      : {
          command: minio,
          args: (port, folder) => ['server', folder, '--address', `127.0.0.1:${port}`, '--quiet'],
          env: { MINIO_ROOT_USER: 'tests', MINIO_ROOT_PASSWORD: 'secret-of-tests', MINIO_UPDATE: 'off' },
        },
}

export const cephProvider: Provider = {
  ...s3Provider,
  name: 'Ceph RadosGW',
  program: cephProgram('tests', 'secret-of-tests'),
}

/** The account and the key that Azurite has by default. They are public. */
const azuriteKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
const azureConfig = (url: string, key = azuriteKey) => ({
  connectionString: [
    'DefaultEndpointsProtocol=http',
    'AccountName=devstoreaccount1',
    `AccountKey=${key}`,
    `BlobEndpoint=${url}/devstoreaccount1`,
  ].join(';'),
})

const azuriteProvider: Provider = {
  name: 'Azurite',
  program: {
    command: process.execPath,
    args: (port, folder) => [
      join(packages, 'azurite', 'dist', 'src', 'blob', 'main.js'),
      '--silent',
      '--skipApiVersionCheck',
      '--disableTelemetry',
      ...['--location', folder, '--blobHost', '127.0.0.1', '--blobPort', String(port)],
    ],
  },
  // Azurite writes its list of blobs to the disk only from time to time.
  isDurable: false,
  createBucket: async url => {
    const { connectionString } = azureConfig(url)
    await BlobServiceClient.fromConnectionString(connectionString).getContainerClient(bucketName).create()
  },
  path: prefix => `az://${bucketName}/${prefix}`,
  storage: url => ({ config: azureConfig(url) }),
  environment: url => ({ AZURE_STORAGE_CONNECTION_STRING: azureConfig(url).connectionString }),
  open: (url, { prefix, bucket = bucketName }) =>
    openAzureStore({ container: bucket, prefix, config: azureConfig(url) }),
  openWithClient: (url, prefix) =>
    openAzureStore({
      container: bucketName,
      prefix,
      client: BlobServiceClient.fromConnectionString(azureConfig(url).connectionString),
    }),
  intruder: url => ({ config: azureConfig(url, Buffer.from('another key').toString('base64')) }),
}

const fakeGcs = findServer('fake-gcs-server')
const gcsConfig = (url: string) => ({
  apiEndpoint: url,
  projectId: 'tests',
  useAuthWithCustomEndpoint: false,
})

const fakeGcsProvider: Provider = {
  name: 'fake-gcs-server',
  program:
    fakeGcs === null
      ? null
      : {
          command: fakeGcs,
          args: (port, folder) => [
            ...['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port)],
            ...['-public-host', `127.0.0.1:${port}`, '-external-url', `http://127.0.0.1:${port}`],
            ...['-backend', 'filesystem', '-filesystem-root', folder, '-log-level', 'error'],
          ],
        },
  isDurable: true,
  // The server adds characters to the names of its files.
  longestName: 200,
  createBucket: async url => {
    await new Storage(gcsConfig(url)).createBucket(bucketName)
  },
  path: prefix => `gs://${bucketName}/${prefix}`,
  storage: url => ({ config: gcsConfig(url) }),
  environment: null,
  open: (url, { prefix, bucket = bucketName }) => openGcsStore({ bucket, prefix, config: gcsConfig(url) }),
  openWithClient: (url, prefix) =>
    openGcsStore({ bucket: bucketName, prefix, client: new Storage(gcsConfig(url)) }),
  // The server does not check credentials.
  intruder: null,
}

/** A server for each client. */
export const perClient: readonly Provider[] = [minioProvider, azuriteProvider, fakeGcsProvider]
export const providers: readonly Provider[] = [...perClient, cephProvider]
