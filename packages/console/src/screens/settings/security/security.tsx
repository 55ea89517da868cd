import { Passkeys } from "./passkeys.tsx";
import { Password } from "./password.tsx";
import { SecondFactor } from "./second-factor.tsx";
import { SignInServices } from "./sign-in-services.tsx";
import { SignedIn } from "./signed-in.tsx";

export function SecuritySection() {
  return (
    <>
      <Password />
      <SecondFactor />
      <Passkeys />
      <SignInServices />
      <SignedIn />
    </>
  );
}
