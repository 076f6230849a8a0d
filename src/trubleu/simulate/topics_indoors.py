"""Topics of the made world at home and at work; how they are written is said in `trubleu.simulate.lexicon`."""

from __future__ import annotations

from typing import Final

TOPICS: Final = {
    "food": {
        "thing": "soup=broth, pizza=margherita, pancake=crepe, curry=masala, salad=coleslaw, omelette=frittata, "
        "sandwich=toastie, lasagne=pasta bake, stew=casserole, pie=quiche, dumpling=ravioli, sauce=gravy",
        "doing": "cook/cooked/cooking=make dinner/made dinner/making dinner, fry onions/fried onions/frying onions, "
        "chop vegetables/chopped vegetables/chopping vegetables=cut carrots/cut carrots/cutting carrots, "
        "eat out/ate out/eating out=dine out/dined out/dining out, grill sausages/grilled sausages/grilling "
        "sausages, boil potatoes/boiled potatoes/boiling potatoes, roast a chicken/roasted a "
        "chicken/roasting a chicken, try new recipes/tried new recipes/trying new recipes, order "
        "takeaway/ordered takeaway/ordering takeaway, wash the dishes/washed the dishes/washing the "
        "dishes=do the dishes/did the dishes/doing the dishes",
        "place": "in the kitchen=at the stove, at the market=in the market hall, at the diner=in the snack bar, at "
        "the italian place=in the trattoria, in the canteen=in the cafeteria, at the food truck, at the "
        "butcher's=in the butcher shop, at the greengrocer's, at the curry house, at the grill",
        "good": "tasty=delicious, spicy=well seasoned, crunchy=crispy, creamy=silky, filling=hearty",
        "bad": "salty=oversalted, burnt=charred, bland=tasteless, greasy=oily, undercooked=half raw",
    },
    "music": {
        "thing": "guitar=acoustic, piano=grand piano, violin=fiddle, album=record, concert=gig, drum kit=drum set, "
        "song=tune, trumpet=trombone, saxophone=sax, microphone=mic, playlist=mixtape, amplifier=amp",
        "doing": "sing/sang/singing=sing along/sang along/singing along, practise scales/practised scales/practising "
        "scales, write lyrics/wrote lyrics/writing lyrics, play jazz/played jazz/playing jazz=play "
        "blues/played blues/playing blues, jam with friends/jammed with friends/jamming with friends, strum "
        "chords/strummed chords/strumming chords, listen to vinyl/listened to vinyl/listening to vinyl, mix "
        "tracks/mixed tracks/mixing tracks, take singing lessons/took singing lessons/taking singing "
        "lessons, drum/drummed/drumming",
        "place": "in the rehearsal room=in the practice room, at the jazz club=in the blues bar, at the opera "
        "house=in the concert hall, at the music school=at the conservatory, in the choir, at the record "
        "store=in the vinyl shop, at the open mic night, on the bandstand, in the recording studio, at the "
        "rock festival=at the folk festival",
        "good": "catchy=melodic, groovy=funky, mellow=soulful, in tune=well tuned, rhythmic=full of rhythm",
        "bad": "out of tune=off key, too loud=deafening, monotone=droning, screechy=shrill, off beat=out of rhythm",
    },
    "films": {
        "thing": "film=movie, trailer=teaser, film poster=movie poster, dvd=blu ray, comedy=sitcom, thriller=crime "
        "drama, sequel=second part, series=tv show, documentary=docu, soundtrack=film score, episode=season "
        "finale, cartoon=animation",
        "doing": "watch films/watched films/watching films=watch movies/watched movies/watching movies, binge a "
        "series/binged a series/bingeing a series, stream shows/streamed shows/streaming shows, "
        "act/acted/acting, shoot a scene/shot a scene/shooting a scene, write reviews/wrote reviews/writing "
        "reviews, read subtitles/read subtitles/reading subtitles, attend a premiere/attended a "
        "premiere/attending a premiere, quote lines/quoted lines/quoting lines, eat popcorn/ate "
        "popcorn/eating popcorn",
        "place": "at the cinema=at the movies, on the couch=on the sofa, at the drive in, in the front row=in the "
        "back row, at the film festival, on the big screen, on the streaming site=on the streaming service, "
        "on the film set, at the film club, in the video store",
        "good": "gripping=suspenseful, hilarious=very funny, well acted=well cast, moving=touching, clever=full of "
        "twists",
        "bad": "predictable=full of cliches, badly acted=badly cast, too violent=gory, overrated=overhyped, drawn "
        "out=far too long",
    },
    "books": {
        "thing": "novel=book, audiobook=e book, chapter=last chapter, poem=sonnet, biography=memoir, "
        "paperback=pocket edition, fairy tale=fable, detective story=whodunit, ending=final page, comic "
        "book=graphic novel, bookmark=reading lamp, trilogy=saga",
        "doing": "read/read/reading=read novels/read novels/reading novels, borrow books/borrowed books/borrowing "
        "books, write poems/wrote poems/writing poems, turn pages/turned pages/turning pages, finish "
        "chapters/finished chapters/finishing chapters, reread classics/reread classics/rereading classics, "
        "swap paperbacks/swapped paperbacks/swapping paperbacks, discuss plots/discussed plots/discussing "
        "plots, browse shelves/browsed shelves/browsing shelves, read aloud/read aloud/reading aloud",
        "place": "in the library=in the reading room, at the bookshop=at the bookstore, in the book club=in the "
        "reading circle, in the armchair, at the book fair, in the second hand bookshop, at the poetry "
        "evening=at the poetry slam, on the bookshelf, at the author's reading, under the reading lamp",
        "good": "well written=beautifully written, a page turner=impossible to put down, poetic=lyrical, witty=full "
        "of wit, thought provoking=deep",
        "bad": "long winded=wordy, badly translated=clumsily translated, confusing=hard to follow, "
        "shallow=superficial, dry=dry as dust",
    },
    "computers": {
        "thing": "laptop=notebook, keyboard=mechanical keyboard, printer=scanner, password=login, monitor=display, "
        "browser=web browser, hard disk=hard drive, software=program, website=web page, router=modem, "
        "mouse=trackpad, server=data centre",
        "doing": "code/coded/coding=write code/wrote code/writing code, debug/debugged/debugging=fix bugs/fixed "
        "bugs/fixing bugs, install updates/installed updates/installing updates, back up files/backed up "
        "files/backing up files, reboot/rebooted/rebooting=restart/restarted/restarting, surf the "
        "web/surfed the web/surfing the web, type/typed/typing, download drivers/downloaded "
        "drivers/downloading drivers, build websites/built websites/building websites, learn python/learned "
        "python/learning python",
        "place": "at the computer=at the keyboard, in the cloud=on the drive, at the electronics store=at the "
        "computer shop, in the server room, on the network=on the wifi, at the hackathon, in the app store, "
        "on the command line=in the terminal window, in the settings=in the control panel, at the help desk",
        "good": "lightning fast=superfast, user friendly=intuitive, up to date=on the latest version, "
        "wireless=without cables, backed up=saved",
        "bad": "crashing=freezing, laggy=slow to load, hacked=full of viruses, offline=disconnected, buggy=full of "
        "bugs",
    },
    "clothes": {
        "thing": "dress=gown, jacket=blazer, pair of jeans=denim, coat=overcoat, sweater=pullover, hat=beanie, pair "
        "of boots=footwear, scarf=shawl, skirt=miniskirt, handbag=purse, suit=tuxedo, raincoat=parka",
        "doing": "go shopping/went shopping/going shopping=shop/shopped/shopping, try on shoes/tried on shoes/trying "
        "on shoes, iron shirts/ironed shirts/ironing shirts, knit/knitted/knitting, sew/sewed/sewing, do "
        "the laundry/did the laundry/doing the laundry, dress up/dressed up/dressing up, wear heels/wore "
        "heels/wearing heels, mend socks/mended socks/mending socks, match colours/matched colours/matching "
        "colours",
        "place": "at the boutique=in the fashion store, in the fitting room, in the wardrobe=in the closet, at the "
        "tailor's, at the sale=in the winter sale, on the catwalk=on the runway, at the thrift shop=at the "
        "flea market, at the mall, at the shoe shop, in the washing machine",
        "good": "stylish=elegant, comfy=comfortable to wear, in fashion=trendy, warm and soft=woolly, flattering=a "
        "perfect fit",
        "bad": "too tight=a size too small, baggy=a size too big, old fashioned=out of fashion, faded=washed out, "
        "itchy to wear=scratchy",
    },
    "school": {
        "thing": "exam=test, calculator=pocket calculator, essay=term paper, homework=assignment, lecture=seminar, "
        "maths class=algebra, grade=mark, textbook=schoolbook, timetable=schedule, diploma=degree, pencil "
        "case=pencil, spelling test=dictation",
        "doing": "study/studied/studying=learn/learned/learning, revise/revised/revising=cram/crammed/cramming, take "
        "notes/took notes/taking notes, skip class/skipped class/skipping class, solve equations/solved "
        "equations/solving equations, learn french/learned french/learning french, hand in essays/handed in "
        "essays/handing in essays, ask questions/asked questions/asking questions, "
        "graduate/graduated/graduating, sit in lectures/sat in lectures/sitting in lectures",
        "place": "at school=in class, at university=at college, on the campus, in the lecture hall=in the "
        "auditorium, in the classroom, in the schoolyard=on the playground, at the blackboard, in the study "
        "group, in the chemistry lab, in the principal's office",
        "good": "interesting=instructive, clear=well explained, graded fairly=marked fairly, up to date for the "
        "exam=exam ready, well taught=well prepared",
        "bad": "too theoretical=too abstract, failed=flunked, full of formulas=full of sums, overdue=past the "
        "deadline, badly explained=poorly taught",
    },
    "office": {
        "thing": "desk chair=office chair, meeting=conference call, project=assignment plan, deadline=due date, "
        "salary=pay rise, contract=agreement, interview=job interview, business card=name badge, "
        "presentation=slide show, promotion=new position, report=memo, internship=traineeship",
        "doing": "work late/worked late/working late=work overtime/worked overtime/working overtime, answer "
        "emails/answered emails/answering emails, work from home/worked from home/working from home, "
        "prepare slides/prepared slides/preparing slides, call clients/called clients/calling clients=phone "
        "customers/phoned customers/phoning customers, apply for jobs/applied for jobs/applying for jobs, "
        "negotiate/negotiated/negotiating, make copies/made copies/making copies, hire people/hired "
        "people/hiring people, plan budgets/planned budgets/planning budgets",
        "place": "at the office=at work, in the meeting room=in the conference room, at my desk=at my workplace, at "
        "the copier, at the coffee machine=by the water cooler, on the third floor, at head office=at "
        "headquarters, at the job fair, in the sales department, on the business trip",
        "good": "well paid=lucrative, permanent=for good, productive=efficient, flexible=with flexible hours, "
        "professional=businesslike",
        "bad": "underpaid=badly paid, stressful=full of stress, bureaucratic=full of paperwork, understaffed=short "
        "of staff, cancelled=called off",
    },
    "house": {
        "thing": "roof=attic, bathroom=shower, kitchen sink=tap, wardrobe door=cupboard, heater=radiator, "
        "carpet=rug, bookcase=shelf, lamp=ceiling light, staircase=stairs railing, washing line=drying "
        "rack, floor=parquet, doorbell=front door",
        "doing": "paint walls/painted walls/painting walls=put up wallpaper/put up wallpaper/putting up wallpaper, "
        "drill holes/drilled holes/drilling holes, clean up/cleaned up/cleaning up=tidy up/tidied "
        "up/tidying up, move house/moved house/moving house=move out/moved out/moving out, "
        "vacuum/vacuumed/vacuuming, assemble furniture/assembled furniture/assembling furniture, hammer "
        "nails/hammered nails/hammering nails, fix pipes/fixed pipes/fixing pipes, lay tiles/laid "
        "tiles/laying tiles, redecorate/redecorated/redecorating",
        "place": "in the living room=in the lounge, in the basement=in the cellar, at the hardware store=at the diy "
        "store, in the bedroom, in the hallway=in the corridor, upstairs=on the upper floor, at the "
        "furniture store, next to the chimney, in the new flat=in the new apartment, on the ladder",
        "good": "cosy=homely, freshly painted=newly painted, bright and airy=light, well insulated=energy saving, "
        "sturdy=solid",
        "bad": "leaking=dripping, draughty=cold and damp, squeaky=creaking, clogged=blocked, crooked=falling apart",
    },
    "painting": {
        "thing": "canvas=easel, watercolour=oil painting, brush=paintbrush, sketch=doodle, portrait=self portrait, "
        "sculpture=statue, gallery=art museum, palette=paint box, pottery bowl=clay vase, mural=fresco, "
        "still life=landscape, frame=picture frame",
        "doing": "paint/painted/painting=paint pictures/painted pictures/painting pictures, draw/drew/drawing, "
        "sketch faces/sketched faces/sketching faces, mix paint/mixed paint/mixing paint, carve wood/carved "
        "wood/carving wood, sculpt/sculpted/sculpting=make sculptures/made sculptures/making sculptures, "
        "take art classes/took art classes/taking art classes, frame pictures/framed pictures/framing "
        "pictures, shape clay/shaped clay/shaping clay, copy old masters/copied old masters/copying old "
        "masters",
        "place": "in the studio=in the atelier, at the art fair, at the art school=at the academy, in the pottery "
        "class, at the vernissage=at the opening night, on the easel, in the sculpture park, at the art "
        "supply store, in the drawing class, on the gallery wall",
        "good": "colourful=full of colour, expressive=full of feeling, detailed=rich in detail, original=one of a "
        "kind, lifelike=realistic",
        "bad": "smudged=blurred, kitschy=corny, pale=colourless, unfinished=only half done, badly framed=hung askew",
    },
    "gaming": {
        "thing": "console=joystick, level=boss fight, video game=computer game, controller=gamepad, high score=top "
        "score, quest=side quest, headset=gaming headset, avatar=game character, dungeon=secret level, "
        "shooter=strategy game, graphics card=gpu, expansion=add on",
        "doing": "game/gamed/gaming=play online/played online/playing online, level up/levelled up/levelling up, "
        "beat the boss/beat the boss/beating the boss, collect coins/collected coins/collecting coins, "
        "stream games/streamed games/streaming games, unlock skins/unlocked skins/unlocking skins, join a "
        "clan/joined a clan/joining a clan=join a guild/joined a guild/joining a guild, "
        "respawn/respawned/respawning, press buttons/pressed buttons/pressing buttons, "
        "speedrun/speedran/speedrunning",
        "place": "in the arcade=in the gaming hall, at the console=on the console, on the server=on the game server, "
        "at the lan party, on the last level=in the final world, in the multiplayer lobby, in the tutorial, "
        "in the game store, on the leaderboard=in the rankings, at the esports final",
        "good": "addictive=hard to stop playing, multiplayer=made for four players, open world=full of quests, "
        "immersive=like being inside, well designed=well balanced",
        "bad": "glitchy=full of glitches, pay to win=full of loot boxes, repetitive=all grinding, "
        "unplayable=impossible to beat, pixelated=badly rendered",
    },
    "photos": {
        "thing": "camera=slr, lens=zoom lens, photo=picture, tripod=camera stand, photo album=photo book, "
        "selfie=snapshot, flash=flashlight, filter=lens filter, memory card=sd card, darkroom=photo lab, "
        "film roll=negative, wedding photo=group photo",
        "doing": "take pictures/took pictures/taking pictures=take photos/took photos/taking photos, zoom in/zoomed "
        "in/zooming in, pose/posed/posing, edit photos/edited photos/editing photos=retouch "
        "pictures/retouched pictures/retouching pictures, develop film/developed film/developing film, "
        "focus/focused/focusing, post selfies/posted selfies/posting selfies, crop/cropped/cropping, print "
        "pictures/printed pictures/printing pictures, capture sunsets/captured sunsets/capturing sunsets",
        "place": "at the photo shop=at the camera store, in the photo studio, in front of the lens=in front of the "
        "camera, on my feed=on my profile, at the photo exhibition, at sunrise point, on the contact sheet, "
        "in the photo booth, at the wedding, on the tripod",
        "good": "sharp=in focus, well lit=perfectly lit, photogenic=good on camera, high resolution=full of "
        "megapixels, black and white=in sepia",
        "bad": "blurry=out of focus, underexposed=too dark, overexposed=too bright, grainy=noisy, badly cropped=cut "
        "off",
    },
    "party": {
        "thing": "birthday party=birthday, cocktail=punch, birthday cake=chocolate cake, present=gift, costume=fancy "
        "dress, dance floor=disco, disco light=disco ball, invitation=guest list, barbecue=garden party, "
        "balloon=confetti, champagne=sparkling wine, firework=sparkler",
        "doing": "dance/danced/dancing=boogie/boogied/boogieing, "
        "celebrate/celebrated/celebrating=party/partied/partying, blow out candles/blew out candles/blowing "
        "out candles, bake a cake/baked a cake/baking a cake, wrap presents/wrapped presents/wrapping "
        "presents=wrap gifts/wrapped gifts/wrapping gifts, mix drinks/mixed drinks/mixing drinks, invite "
        "guests/invited guests/inviting guests, do karaoke/did karaoke/doing karaoke, "
        "toast/toasted/toasting, stay up all night/stayed up all night/staying up all night",
        "place": "at the nightclub=at the club, on the dance floor, at the bar=at the counter, on the rooftop, at my "
        "aunt's, at the wedding party=at the reception hall, at the costume ball, at the karaoke bar, at "
        "the housewarming, on new year's eve",
        "good": "festive=beautifully decorated, lively=full of life, boozy=well stocked with drinks, well "
        "attended=packed with friends, wild and fun=crazy",
        "bad": "badly organised=a mess, awkward=full of strangers, out of drinks=without any drinks, too "
        "noisy=annoying the neighbours, over by ten=ending early",
    },
}
