/**
 * Words that carry no subject. The first block is the usual English list, contractions written without their
 * apostrophe; the second holds what people write around the subject when they ask a prompt catalogue for something.
 */
const USUAL = `
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom whose this that these those am is are was were be been
being have has had having do does did doing done a an the and but if or because as until while of at by for with about
against between into through during before after above below to from up down in out on off over under again further
then once here there when where why how all any both each few more most other some such no nor not only own same so
than too very can could will would shall should may might must just also now im ive id ill youre youve youd youll hes
shes theyre theyve theyd weve wed thats whats theres lets dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt
cant cannot couldnt wont wouldnt shouldnt`;
const ASKING = "want need like make please help give get way thing something someone let further";

export const STOP_WORDS: ReadonlySet<string> = new Set(`${USUAL} ${ASKING}`.trim().split(/\s+/));
