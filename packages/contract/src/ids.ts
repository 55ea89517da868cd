/** Every id is a UUID; small and capital letters are equal. */
export const ID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
