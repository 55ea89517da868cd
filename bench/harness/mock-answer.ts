/** What the mock model is called, and what it answers. */
export const MOCK_MODEL = "m";
export const MOCK_ANSWER = "Once upon a time a kettle sang, and everybody came for tea.";
