import type { Clock } from '../streams/clock.ts';
import { createSecretFiles } from './secret-files.ts';

/** Who asks the Robot web service. */
export interface RobotLogin {
  readonly user: string;
  readonly password: string;
}

export interface RobotLoginOptions extends RobotLogin {
  /** Files they were read from; undefined for what cannot change. */
  readonly userFile: string | undefined;
  readonly passwordFile: string | undefined;
  readonly clock: Clock;
  /** Told when a file cannot be used; the last good login stays. Once for each time they break. */
  readonly onError?: (err: Error) => void;
  /** Told when it can be used again. */
  readonly onRecovered?: () => void;
}

/**
 * The login at present; its files are read again when they change. Both are taken over together: a new user with an
 * old password would be a failed login, and Robot counts those.
 */
export const createRobotLogin = (options: RobotLoginOptions): (() => RobotLogin) => {
  const { user, password, userFile, passwordFile, ...rest } = options;
  return createSecretFiles({
    initial: { user, password },
    files: { user: userFile, password: passwordFile },
    ...rest,
  });
};
