import type { Dispatcher } from 'undici';
import { FatalError } from './fatal-error.ts';
import { createDispatcher, proxiesOf } from './hetzner/dispatcher.ts';
import { createRobotLogin, type RobotLogin } from './hetzner/robot-login.ts';
import { createToken } from './hetzner/token.ts';
import { type KubeConnection, loadKubeConnection } from './kubernetes/credentials.ts';
import type { Logger } from './observability/logger.ts';
import type { Settings } from './settings/settings.ts';
import type { Clock } from './streams/clock.ts';

/** How both sides are reached and by which credentials. */
export interface Access {
  readonly token: () => string;
  /** Undefined where Robot is not in use. */
  readonly robotLogin: (() => RobotLogin) | undefined;
  readonly connection: KubeConnection;
  /** To Hetzner. */
  readonly dispatcher: Dispatcher;
}

export interface AccessOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Grows by each secret that is used. */
  readonly secrets: Set<string>;
}

/** Finds the credentials that the settings name. @throws FatalError when there is no way to the Kubernetes API */
export async function openAccess({ settings, clock, logger, secrets }: AccessOptions): Promise<Access> {
  const currentToken = createToken({
    token: settings.hcloud.token,
    file: settings.hcloud.tokenFile,
    clock,
    onError: err =>
      logger.error('Failed to read the token again, using the one before', { setting: 'HCLOUD_TOKEN_FILE', err }),
    onRecovered: () => logger.info('Read the token from its file again', { setting: 'HCLOUD_TOKEN_FILE' }),
  });
  const token = (): string => {
    const current = currentToken();
    secrets.add(current);
    return current;
  };
  const connection = await connect(settings).catch(fatal);
  const speaksTLS = connection.server.startsWith('https:');
  if (speaksTLS && connection.tls().rejectUnauthorized === false)
    logger.warn('Left the certificate of the Kubernetes API unverified', {
      setting: 'kubeconfig',
      hint: 'remove insecure-skip-tls-verify from the kubeconfig and name the CA',
    });
  return {
    token,
    robotLogin: robotLoginOf(settings, clock, logger, secrets),
    connection,
    dispatcher: await createDispatcher(proxiesOf(proxyVariables(settings))),
  };
}

/** The secrets that the settings hold. */
export const secretsOf = ({ hcloud, robot }: Settings): Set<string> =>
  new Set([hcloud.token, robot.password].filter(secret => secret !== undefined));

/** Robot is asked only with a login; without, its servers are known by what their nodes say alone. */
function robotLoginOf({ robot }: Settings, clock: Clock, logger: Logger, secrets: Set<string>): Access['robotLogin'] {
  const { enabled, user, password, userFile, passwordFile } = robot;
  if (!enabled || user === undefined || password === undefined) return undefined;
  const onError = (err: Error) =>
    logger.error('Failed to read the Robot login again, using the one before', { setting: 'ROBOT_PASSWORD_FILE', err });
  const onRecovered = () =>
    logger.info('Read the Robot login from its files again', { setting: 'ROBOT_PASSWORD_FILE' });
  const current = createRobotLogin({ user, password, userFile, passwordFile, clock, onError, onRecovered });
  return () => {
    const login = current();
    secrets.add(login.password);
    return login;
  };
}

const proxyVariables = ({ proxy }: Settings) => ({
  HTTP_PROXY: proxy.http,
  HTTPS_PROXY: proxy.https,
  NO_PROXY: proxy.no,
});

function connect({ kubernetes }: Settings): Promise<KubeConnection> {
  const { kubeconfig, master, serviceHost, servicePort, serviceAccountDir } = kubernetes;
  const env = {
    KUBERNETES_SERVICE_HOST: serviceHost,
    KUBERNETES_SERVICE_PORT: servicePort === undefined ? undefined : String(servicePort),
  };
  return loadKubeConnection({ kubeconfig, master, env, ...(serviceAccountDir !== undefined && { serviceAccountDir }) });
}

/** What goes wrong before the controllers run is the user's to mend: a message, no stack trace. */
export function fatal(err: unknown): never {
  throw new FatalError(err instanceof Error ? err.message : String(err), { cause: err });
}
