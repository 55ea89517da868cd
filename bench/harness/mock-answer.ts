/** The mock model's name and its answer. */
export const MOCK_MODEL = "m";
export const MOCK_ANSWER = "Once upon a time a kettle sang, and everybody came for tea.";
